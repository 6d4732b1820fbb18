package model

// State is the live picture of the cluster: a store for each kind of object, and one undo log for
// all of them. It is not safe for concurrent use: one goroutine owns it. It must not be copied.
type State struct {
	Nodes       NodeStore
	Images      ImageStore
	Pods        PodStore
	Groups      GroupStore
	Claims      ClaimStore
	Classes     ClassStore
	Devices     DeviceStore
	TaintRules  TaintRuleStore
	Volumes     VolumeStore
	Services    ServiceStore
	Budgets     BudgetStore
	Nominations NominationStore
	Namespaces  NamespaceStore
	Terms       TermStore

	log undoLog
}

// NewState returns an empty State.
func NewState() *State {
	s := &State{}
	s.Nodes = newNodeStore(s)
	s.Images = newImageStore()
	s.Pods = newPodStore(s)
	s.Groups = newGroupStore(s)
	s.Claims = newClaimStore(s)
	s.Classes = newClassStore(&s.log)
	s.Devices = newDeviceStore(s)
	s.TaintRules = newTaintRuleStore(s)
	s.Volumes = newVolumeStore(&s.log)
	s.Services = newServiceStore(s)
	s.Budgets = newBudgetStore(&s.log)
	s.Nominations = newNominationStore(s)
	s.Namespaces = newNamespaceStore(s)
	s.Terms = newTermStore(s)
	return s
}

// outdated reports whether an object of the new version must not replace the stored one.
func outdated(oldUID, newUID any, oldVersion, newVersion uint64) bool {
	return oldUID == newUID && oldVersion != 0 && newVersion != 0 && newVersion < oldVersion
}
