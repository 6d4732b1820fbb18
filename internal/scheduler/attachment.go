package scheduler

import (
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	resourcev1 "k8s.io/api/resource/v1"

	"github.com/allot-dev/allot/internal/model"
)

// attachment is the progress of attaching the devices of some claims that have bindingConditions.
// No pod is bound before all these conditions are True (R27).
type attachment struct {
	missing  []string         // conditions that are not True yet, for messages
	failed   []string         // reasons why devices will not become ready, for messages
	hopeless []model.Key      // the claims with such devices
	broken   []model.DeviceID // these devices
	deadline time.Time        // time at which missing conditions count as failed; zero if none is missing
}

func (a *attachment) ready() bool { return len(a.missing)+len(a.failed) == 0 }

func (a *attachment) add(claim *model.Claim, began, now time.Time, timeout time.Duration) {
	if !claim.Attachment.Allocated.IsZero() {
		began = claim.Attachment.Allocated.Time
	}
	deadline := began.Add(timeout)
	late := !now.Before(deadline)
	for i := range claim.Allocation.Devices {
		result := &claim.Allocation.Devices[i]
		conditions := reportOn(claim, result)
		subject := fmt.Sprintf("device %s of claim %s", model.DeviceIDOf(*result), claim.Key)
		why := failure(conditions, result.BindingFailureConditions)
		missing := untrue(conditions, result.BindingConditions)
		switch {
		case why != "":
			a.failed = append(a.failed, subject+": "+why)
		case len(missing) > 0 && late:
			a.failed = append(a.failed, fmt.Sprintf("%s: %s not True after %s", subject, strings.Join(missing, ", "), timeout))
		case len(missing) > 0:
			a.missing = append(a.missing, fmt.Sprintf("%s of %s", strings.Join(missing, ", "), subject))
			if a.deadline.IsZero() || deadline.Before(a.deadline) {
				a.deadline = deadline
			}
			continue
		default:
			continue
		}
		a.broken = append(a.broken, model.DeviceIDOf(*result))
		if n := len(a.hopeless); n == 0 || a.hopeless[n-1] != claim.Key {
			a.hopeless = append(a.hopeless, claim.Key)
		}
	}
}

// reportOn returns the conditions that the driver reports for the device or the share of it.
func reportOn(claim *model.Claim, result *resourcev1.DeviceRequestAllocationResult) []metav1.Condition {
	for i := range claim.Attachment.Reports {
		r := &claim.Attachment.Reports[i]
		same := r.Driver == result.Driver && r.Pool == result.Pool && r.Device == result.Device
		if same && (r.ShareID == nil) == (result.ShareID == nil) &&
			(r.ShareID == nil || *r.ShareID == string(*result.ShareID)) {
			return r.Conditions
		}
	}
	return nil
}

func failure(conditions []metav1.Condition, types []string) string {
	for _, name := range types {
		c := meta.FindStatusCondition(conditions, name)
		switch {
		case c == nil || c.Status != metav1.ConditionTrue:
		case c.Message == "":
			return fmt.Sprintf("%s is True (%s)", name, c.Reason)
		default:
			return fmt.Sprintf("%s is True (%s: %s)", name, c.Reason, c.Message)
		}
	}
	return ""
}

func untrue(conditions []metav1.Condition, types []string) []string {
	var missing []string
	for _, name := range types {
		if !meta.IsStatusConditionTrue(conditions, name) {
			missing = append(missing, name)
		}
	}
	return missing
}
