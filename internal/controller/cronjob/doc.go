// Package cronjob creates the Jobs of CronJobs at their times, and deletes those that the history
// does not keep.
//
// Decide is the complete decision, a function of the CronJob, its Jobs and the time: which Jobs
// have ended, whether a time of the schedule is due, which Jobs are deleted, which Job is created,
// and when to look again. The Controller gathers, calls it, and writes: deletions, the Job, and
// then the status.
//
// Invariants: at most one Job is created for a time, because its name follows from the CronJob and
// the time; of several missed times, only the last one is started; no pass starts before the cache
// shows the status that the last one wrote. The package does not create pods, and never changes
// Jobs that another object controls.
package cronjob
