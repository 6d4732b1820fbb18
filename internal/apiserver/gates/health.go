package gates

import corev1 "k8s.io/api/core/v1"

// dropHealth deletes the health of devices from the status of a pod.
func dropHealth(st *corev1.PodStatus) {
	eachContainer(st, func(c *corev1.ContainerStatus) { c.AllocatedResourcesStatus = nil })
}

// dropHealthMessages deletes what drivers say about the health of devices.
func dropHealthMessages(st *corev1.PodStatus) {
	eachContainer(st, func(c *corev1.ContainerStatus) {
		for i := range c.AllocatedResourcesStatus {
			for j := range c.AllocatedResourcesStatus[i].Resources {
				c.AllocatedResourcesStatus[i].Resources[j].Message = nil
			}
		}
	})
}

func eachContainer(st *corev1.PodStatus, do func(*corev1.ContainerStatus)) {
	for _, list := range [][]corev1.ContainerStatus{st.InitContainerStatuses, st.ContainerStatuses,
		st.EphemeralContainerStatuses} {
		for i := range list {
			do(&list[i])
		}
	}
}
