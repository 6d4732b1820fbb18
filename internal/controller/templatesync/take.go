package templatesync

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// finishWithin is the time for the second half of a replacement when the process is stopped in
// between.
const finishWithin = 10 * time.Second

// take carries out a step. It returns the standing of the original, if it differs from the plan.
func (c *Controller) take(ctx context.Context, namespace *metav1.ObjectMeta, s Step) (*Standing, error) {
	var err error
	standing := (*Standing)(nil)
	switch s.Verb {
	case Create:
		if why := c.verdicts.rejection(s.Original); why != "" {
			c.queue.AddAfter(namespace.Name, retryRejected)
			return &Standing{State: Refused, Why: why}, nil
		}
		err = c.create(ctx, namespace.Name, s.Original)
		standing, err = c.recordVerdict(namespace.Name, s.Original, false, err)
	case Replace:
		standing, err = c.replace(ctx, namespace.Name, s)
	case Repair:
		err = c.templates.Repair(ctx, s.Copy, s.Original.marks(namespace.Name))
	case Delete:
		err = c.delete(ctx, s.Copy)
	}
	c.meter.Wrote(string(s.Verb), err == nil && (standing == nil || standing.State != Refused))
	if err == nil {
		return standing, nil
	}
	var name string
	if s.Original != nil {
		name = s.Original.CopyName
		standing = standingAfterError(standing, s, err)
	} else {
		name = s.Copy.Name
	}
	return standing, fmt.Errorf("%s ResourceClaimTemplate %s/%s: %w", s.Verb, namespace.Name, name, err)
}

// standingAfterError returns the standing after an error. Races with a cache that is behind do not count.
func standingAfterError(standing *Standing, s Step, err error) *Standing {
	if standing == nil {
		standing = &Standing{Present: s.Copy != nil}
	}
	standing.State, standing.Why = Failed, err.Error()
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		standing.State, standing.Why = Pending, ""
	}
	return standing
}

// create creates the copy in a namespace.
func (c *Controller) create(ctx context.Context, namespace string, o *Original) error {
	made, err := c.templates.Create(ctx, o.copyFor(namespace), false)
	if err != nil {
		return err
	}
	c.own.add(made.GetUID())
	c.written.Created(types.UID(namespace), made)
	c.verdicts.accept(o)
	return nil
}

// recordVerdict records the server's decision about a content. A content that was accepted in one namespace
// is not rejected in all because of another.
func (c *Controller) recordVerdict(namespace string, o *Original, present bool, err error) (*Standing, error) {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		c.verdicts.refuse(o, err)
		c.queue.AddAfter(namespace, retryRejected)
		return &Standing{State: Refused, Present: present, Why: err.Error()}, nil
	case apierrors.HasStatusCause(err, "NamespaceTerminating"), apierrors.IsNotFound(err):
		// the namespace is being deleted, which will cause an event
		return &Standing{State: Pending}, nil
	}
	return nil, err
}

// replace deletes a copy and immediately creates another one. Pods can be created without a
// template; their claims are generated when it exists.
func (c *Controller) replace(ctx context.Context, namespace string, s Step) (*Standing, error) {
	if standing, err := c.dryRun(ctx, namespace, s.Original); standing != nil || err != nil {
		return standing, err
	}
	if err := c.delete(ctx, s.Copy); err != nil {
		return nil, err
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	err := c.create(finish, namespace, s.Original)
	standing, err := c.recordVerdict(namespace, s.Original, false, err)
	if err != nil && standing == nil {
		standing = &Standing{}
	}
	return standing, err
}

// dryRun validates a content with a dry run before the first copy is deleted for it. The server checks
// last whether the name exists, so that this error means that the content is valid. An exhausted
// quota is no answer: the replaced copy frees it. Other workers wait for the one that asks.
func (c *Controller) dryRun(ctx context.Context, namespace string, o *Original) (*Standing, error) {
	c.dryRunLock.Lock()
	defer c.dryRunLock.Unlock()
	if c.verdicts.isAccepted(o) {
		return nil, nil
	}
	if why := c.verdicts.rejection(o); why != "" {
		c.queue.AddAfter(namespace, retryRejected)
		return &Standing{State: Refused, Present: true, Why: why}, nil
	}
	_, err := c.templates.Create(ctx, o.copyFor(namespace), true)
	if apierrors.IsForbidden(err) && strings.Contains(err.Error(), "exceeded quota") {
		return nil, nil
	}
	if err == nil || apierrors.IsAlreadyExists(err) {
		c.verdicts.accept(o)
		return nil, nil
	}
	return c.recordVerdict(namespace, o, true, err)
}

// delete deletes a template. One that no longer exists is as good.
func (c *Controller) delete(ctx context.Context, seen *Copy) error {
	if err := c.templates.Delete(ctx, seen); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	c.written.Deleted(types.UID(seen.Namespace), seen)
	return nil
}
