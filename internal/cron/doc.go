// Package cron parses the schedules of CronJobs with the library that Kubernetes uses.
//
// It decides how a schedule and its time zone combine, and which texts are schedules; validation
// and the controller of CronJobs agree by it. No text makes it panic. It never reads the clock. The
// time zones are part of the program, so that they do not depend on the machine.
package cron
