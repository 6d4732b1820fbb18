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

// finishWithin is how long the second half of a replacement may take when the process is told to stop in between.
const finishWithin = 10 * time.Second

// take does what a step says. It returns where the original stands if not as the plan says.
func (c *Controller) take(ctx context.Context, namespace *metav1.ObjectMeta, s Step) (*Standing, error) {
	var err error
	standing := (*Standing)(nil)
	switch s.Verb {
	case Create:
		if why := c.verdicts.refused(s.Original); why != "" {
			c.queue.AddAfter(namespace.Name, askAgain)
			return &Standing{State: Refused, Why: why}, nil
		}
		err = c.create(ctx, namespace.Name, s.Original)
		standing, err = c.judge(namespace.Name, s.Original, false, err)
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
	name := ""
	if s.Original != nil {
		name = s.Original.CopyName
		standing = failed(standing, s, err)
	} else {
		name = s.Copy.Name
	}
	return standing, fmt.Errorf("%s ResourceClaimTemplate %s/%s: %w", s.Verb, namespace.Name, name, err)
}

// failed is the standing after an error. Races with a cache that lags behind are none.
func failed(standing *Standing, s Step, err error) *Standing {
	if standing == nil {
		standing = &Standing{Present: s.Copy != nil}
	}
	standing.State, standing.Why = Failed, err.Error()
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) {
		standing.State, standing.Why = Pending, ""
	}
	return standing
}

// create makes the copy in a namespace.
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

// judge takes what the server said to a content. A content that it took somewhere is not refused for all because of one namespace.
func (c *Controller) judge(namespace string, o *Original, present bool, err error) (*Standing, error) {
	switch {
	case apierrors.IsInvalid(err), apierrors.IsBadRequest(err):
		c.verdicts.refuse(o, err)
		c.queue.AddAfter(namespace, askAgain)
		return &Standing{State: Refused, Present: present, Why: err.Error()}, nil
	case apierrors.HasStatusCause(err, "NamespaceTerminating"), apierrors.IsNotFound(err):
		return &Standing{State: Pending}, nil // the namespace is going, which an event will tell
	}
	return nil, err
}

// replace deletes a copy and makes another one at once. Pods do not need a template to be created; whoever generates their
// claims tries again until there is one.
func (c *Controller) replace(ctx context.Context, namespace string, s Step) (*Standing, error) {
	if standing, err := c.ask(ctx, namespace, s.Original); standing != nil || err != nil {
		return standing, err
	}
	if err := c.delete(ctx, s.Copy); err != nil {
		return nil, err
	}
	finish, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishWithin)
	defer cancel()
	err := c.create(finish, namespace, s.Original)
	standing, err := c.judge(namespace, s.Original, false, err)
	if err != nil && standing == nil {
		standing = &Standing{}
	}
	return standing, err
}

// ask has the server look at a content before the first copy is deleted for it. That the name is taken is what it says last: it
// found no fault before. A full quota is no answer: what is replaced makes room. Workers wait for the one that asks.
func (c *Controller) ask(ctx context.Context, namespace string, o *Original) (*Standing, error) {
	c.asking.Lock()
	defer c.asking.Unlock()
	if c.verdicts.accepted(o) {
		return nil, nil
	}
	if why := c.verdicts.refused(o); why != "" {
		c.queue.AddAfter(namespace, askAgain)
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
	return c.judge(namespace, o, true, err)
}

// delete deletes what was looked at. It being gone already is as good.
func (c *Controller) delete(ctx context.Context, seen *Copy) error {
	if err := c.templates.Delete(ctx, seen); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	c.written.Deleted(types.UID(seen.Namespace), seen)
	return nil
}
