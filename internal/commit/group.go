package commit

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/types"

	"github.com/allot-dev/allot/internal/model"
	"github.com/allot-dev/allot/internal/sched/plan"
)

// Group is the part of a PodGroup or CompositePodGroup on which a plan relies.
type Group struct {
	UID      types.UID // "" if the group does not exist
	MinCount int       // 0 if the group is not a gang
}

// checkGroups verifies that the groups of the plan are still those for which it was made, and that
// a gang has the same minCount. Pods and groups are received by separate watches. Thus the
// scheduler may receive a pod before it receives that the pod's group was deleted and recreated,
// and would place the pod with the claim of the deleted group (R11). It may also receive a pod
// before it receives a higher minCount, and would place the pod alone.
func (c *Committer) checkGroups(ctx context.Context, plan *plan.Plan) error {
	for _, of := range groupsOf(plan) {
		now, err := c.lookUpGroup(ctx, plan.Unit.Key.Namespace, of)
		switch {
		case err != nil:
			return err
		case now.UID == "":
			return fmt.Errorf("%w: %s %s was deleted", ErrRefused, groupKind(of), of.Name)
		case now.UID != of.UID:
			return fmt.Errorf("%w: %s %s was deleted and recreated", ErrRefused, groupKind(of), of.Name)
		case plan.MinCount != 0 && of.UID == plan.Group && now.MinCount != 0 && now.MinCount != plan.MinCount:
			return fmt.Errorf("%w: minCount of PodGroup %s is %d, and was %d", ErrRefused, of.Name, now.MinCount, plan.MinCount)
		}
	}
	return nil
}

// groupsOf returns the groups that the plan's claims have as consumers, and the gang of the plan.
func groupsOf(plan *plan.Plan) []model.Consumer {
	var groups []model.Consumer
	seen := map[types.UID]bool{}
	add := func(consumer model.Consumer) {
		if model.IsGroupConsumer(consumer) && !seen[consumer.UID] {
			seen[consumer.UID] = true
			groups = append(groups, consumer)
		}
	}
	if plan.MinCount > 0 && plan.Group != "" {
		add(model.GroupConsumer(plan.Unit.Key.Name, plan.Group))
	}
	for i := range plan.Relies {
		add(plan.Relies[i].Consumer)
	}
	for i := range plan.Claims {
		for _, consumer := range plan.Claims[i].Reserve {
			add(consumer)
		}
	}
	return groups
}

// lookUpGroup reads a group. It fails only if ctx ends.
func (r *reader) lookUpGroup(ctx context.Context, namespace string, of model.Consumer) (group Group, err error) {
	err = r.repeatRead(ctx, func() (err error) {
		if group, err = r.binds.Group(ctx, namespace, of); refused(err) {
			group, err = Group{}, nil
		}
		return err
	})
	if err != nil {
		return Group{}, fmt.Errorf("look for %s %s/%s: %w", groupKind(of), namespace, of.Name, err)
	}
	return group, nil
}

func groupKind(of model.Consumer) string {
	if model.IsCompositeConsumer(of) {
		return "CompositePodGroup"
	}
	return "PodGroup"
}
