package features

// Gate is a feature gate.
type Gate uint

// The gates of the KEPs, and the gates of Kubernetes 1.37 for the features that allot implements.
const (
	// GenericWorkload serves Workloads and PodGroups, and schedules groups (KEP-5832).
	GenericWorkload Gate = iota
	// WorkloadClaims lets the pods of a PodGroup share its claims (KEP-5729).
	WorkloadClaims
	// ReservedForWorkloads lets a claim name its consumer (KEP-5194).
	ReservedForWorkloads
	// ClusterTemplates serves ClusterResourceClaimTemplates (KEP-5978).
	ClusterTemplates

	AdminAccess
	BindingConditions
	CompatibilityGroups
	ConsumableCapacity
	DerivedAttributes
	DeviceStatus
	DeviceTaintRules
	DeviceTaints
	ExtendedResource
	GranularStatusAuthorization
	ListTypeAttributes
	NodeAllocatableResources
	OptionalNodeOperations
	PartitionableDevices
	// PartitionTypes lets slices name the attribute that distinguishes their partitions, and
	// ResourcePoolStatusRequests count by it (KEP-5677).
	PartitionTypes
	PrioritizedList
	// PoolStatus serves and answers ResourcePoolStatusRequests (KEP-5677).
	PoolStatus
	// ResourceHealthStatus shows the health of devices in the status of pods (KEP-4680), and
	// ResourceHealthStatusMessage what their drivers say about it.
	ResourceHealthStatus
	ResourceHealthStatusMessage

	gates // number of gates
)

// stage is the maturity of a feature in Kubernetes 1.37 or in its KEP.
type stage string

const (
	alpha   stage = "ALPHA"
	beta    stage = "BETA"
	general stage = "GA"
)

// description holds the name of a gate, and the gates it depends on.
type description struct {
	name, alias string
	stage       stage
	needs       []Gate
}

func describe(g Gate) description {
	switch g {
	case GenericWorkload:
		return description{name: "GenericWorkload", stage: beta}
	case WorkloadClaims:
		return description{
			name: "WorkloadPodGroupResourceClaimTemplate", alias: "DRAWorkloadResourceClaims", stage: beta,
			needs: []Gate{GenericWorkload},
		}
	case ReservedForWorkloads:
		return description{name: "DRAReservedForWorkloads", stage: alpha}
	case ClusterTemplates:
		return description{name: "ClusterResourceClaimTemplates", stage: alpha}
	case AdminAccess:
		return description{name: "DRAAdminAccess", stage: general}
	case BindingConditions:
		return description{name: "DRADeviceBindingConditions", stage: beta, needs: []Gate{DeviceStatus}}
	case CompatibilityGroups:
		return description{name: "DRADeviceCompatibilityGroups", stage: alpha, needs: []Gate{PartitionableDevices}}
	case ConsumableCapacity:
		return description{name: "DRAConsumableCapacity", stage: beta}
	case DerivedAttributes:
		return description{name: "DRADerivedAttributes", stage: alpha}
	case DeviceStatus:
		return description{name: "DRAResourceClaimDeviceStatus", stage: general}
	case DeviceTaintRules:
		return description{name: "DRADeviceTaintRules", stage: general, needs: []Gate{DeviceTaints}}
	case DeviceTaints:
		return description{name: "DRADeviceTaints", stage: general}
	case ExtendedResource:
		return description{name: "DRAExtendedResource", stage: general}
	case GranularStatusAuthorization:
		return description{name: "DRAResourceClaimGranularStatusAuthorization", stage: beta}
	case ListTypeAttributes:
		return description{name: "DRAListTypeAttributes", stage: alpha}
	case NodeAllocatableResources:
		return description{name: "DRANodeAllocatableResources", stage: alpha}
	case OptionalNodeOperations:
		return description{name: "DRAOptionalNodeOperations", stage: alpha}
	case PartitionableDevices:
		return description{name: "DRAPartitionableDevices", stage: beta}
	case PartitionTypes:
		return description{name: "DRAPartitionableDevicesType", stage: alpha, needs: []Gate{PartitionableDevices, PoolStatus}}
	case PoolStatus:
		return description{name: "DRAResourcePoolStatus", stage: alpha}
	case PrioritizedList:
		return description{name: "DRAPrioritizedList", stage: general}
	case ResourceHealthStatus:
		return description{name: "ResourceHealthStatus", stage: beta}
	case ResourceHealthStatusMessage:
		return description{name: "ResourceHealthStatusMessage", stage: beta, needs: []Gate{ResourceHealthStatus}}
	}
	return description{}
}

// String returns the name of the gate.
func (g Gate) String() string { return describe(g).name }

// lockedGates returns the gates of Kubernetes 1.37 that are locked to true there, too.
func lockedGates() []string { return []string{"DynamicResourceAllocation"} }

// gatesWithoutEffect returns the gates of Kubernetes 1.37 that switch nothing here, each with the
// reason. Both values are accepted, so that the flags of other components can be used.
func gatesWithoutEffect() map[string]string {
	return map[string]string{
		"DRAFractionalCapacityRange": "all amounts are exact",
		"DRASchedulerFilterTimeout":  "searches end by a budget of steps",
	}
}
