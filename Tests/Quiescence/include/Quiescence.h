// Detection of the time at which nothing runs in this process. See quiescence.c.

#pragma once

// From now on, jobs of Swift's pool run on one thread, in the order in which they were added, and all work is counted. Must be
// called before the work that is to be counted begins. Later calls have no effect.
void quiescence_begin(void);

// Calls `resume` with `context` once no job, block or thread is left. Callers are served one after the other: the work that one
// of them adds is complete before the next is called.
void quiescence_wait(void (*resume)(void *context), void *context);
