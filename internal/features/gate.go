package features

// Gate is a feature gate.
type Gate uint

// The gates of the KEPs, and the gates of Kubernetes 1.37 for the features that allot implements.
const (
	// GenericWorkload serves Workloads and PodGroups, and schedules groups (KEP-5832).
	GenericWorkload Gate = iota
	// CompositePodGroup serves CompositePodGroups (KEP-6012). It is off by default, as in 1.37.
	CompositePodGroup
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

// optIn has a bit for each gate that is off by default.
const optIn uint64 = 1 << CompositePodGroup

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

// describe returns the description of a gate.
func describe(g Gate) description {
	if g >= gates {
		return description{}
	}
	return [gates]description{
		GenericWorkload:   {name: "GenericWorkload", stage: beta},
		CompositePodGroup: {name: "CompositePodGroup", stage: alpha, needs: []Gate{GenericWorkload}},
		WorkloadClaims: {
			name: "WorkloadPodGroupResourceClaimTemplate", alias: "DRAWorkloadResourceClaims", stage: beta,
			needs: []Gate{GenericWorkload},
		},
		ReservedForWorkloads: {name: "DRAReservedForWorkloads", stage: alpha},
		ClusterTemplates:     {name: "ClusterResourceClaimTemplates", stage: alpha},
		AdminAccess:          {name: "DRAAdminAccess", stage: general},
		BindingConditions:    {name: "DRADeviceBindingConditions", stage: beta, needs: []Gate{DeviceStatus}},
		CompatibilityGroups: {name: "DRADeviceCompatibilityGroups", stage: alpha,
			needs: []Gate{PartitionableDevices}},
		ConsumableCapacity:          {name: "DRAConsumableCapacity", stage: beta},
		DerivedAttributes:           {name: "DRADerivedAttributes", stage: alpha},
		DeviceStatus:                {name: "DRAResourceClaimDeviceStatus", stage: general},
		DeviceTaintRules:            {name: "DRADeviceTaintRules", stage: general, needs: []Gate{DeviceTaints}},
		DeviceTaints:                {name: "DRADeviceTaints", stage: general},
		ExtendedResource:            {name: "DRAExtendedResource", stage: general},
		GranularStatusAuthorization: {name: "DRAResourceClaimGranularStatusAuthorization", stage: beta},
		ListTypeAttributes:          {name: "DRAListTypeAttributes", stage: alpha},
		NodeAllocatableResources:    {name: "DRANodeAllocatableResources", stage: alpha},
		OptionalNodeOperations:      {name: "DRAOptionalNodeOperations", stage: alpha},
		PartitionableDevices:        {name: "DRAPartitionableDevices", stage: beta},
		PartitionTypes: {name: "DRAPartitionableDevicesType", stage: alpha,
			needs: []Gate{PartitionableDevices, PoolStatus}},
		PoolStatus:                  {name: "DRAResourcePoolStatus", stage: alpha},
		PrioritizedList:             {name: "DRAPrioritizedList", stage: general},
		ResourceHealthStatus:        {name: "ResourceHealthStatus", stage: beta},
		ResourceHealthStatusMessage: {name: "ResourceHealthStatusMessage", stage: beta, needs: []Gate{ResourceHealthStatus}},
	}[g]
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

// byDefault reports whether the feature is enabled unless it is switched.
func (g Gate) byDefault() bool { return optIn&(1<<g) == 0 }
