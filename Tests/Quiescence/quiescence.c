// Work in a process of a simulation is a job of Swift's pool, a block on a Dispatch queue, or a thread that the service starts.
// This file counts all three where they begin and end, so that no thread has to be observed:
//
// - Jobs come through the hook that Swift's runtime offers for executors. They run on one thread, which is cheaper than a pool
//   whose threads wake each other.
// - Blocks come through dispatch_async. The dynamic linker prefers this program's definition to that of libdispatch, so this
//   also covers queues inside Foundation and GRDB. A dispatch group counts the blocks.
// - Threads come through pthread_create, in the same way. Only threads that the program's own code starts are counted. Those of
//   libdispatch wait for more work and never end.
//
// Nothing else adds work, because the clock, the network and the processes of a simulation are scripted.

#define _GNU_SOURCE
#include "Quiescence.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

// The runtime's types in the headers of Swift: SerialExecutorRef, and a hook for jobs of the pool.
struct serial_executor {
    void *identity;
    uintptr_t implementation;
};
typedef __attribute__((swiftcall)) void enqueue_hook(void *job, void *original);
extern enqueue_hook *swift_task_enqueueGlobal_hook;
extern __attribute__((swiftcall)) void swift_job_run(void *job, struct serial_executor executor);

// libdispatch's declarations, with untyped queues and blocks.
extern void *dispatch_group_create(void);
extern void dispatch_group_async(void *group, void *queue, void *block);
extern void dispatch_group_notify_f(void *group, void *queue, void *context, void (*work)(void *context));
extern intptr_t dispatch_group_wait(void *group, uint64_t timeout);
extern void *dispatch_get_global_queue(intptr_t identifier, uintptr_t flags);

// The start and end of the program's own code, from the linker.
extern const char __executable_start, etext;

struct entry {
    struct entry *next;
    void *job;
    void (*resume)(void *context);
    void *context;
};
struct queue {
    struct entry *first, **end;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
// What follows is guarded by the lock.
static struct queue jobs = {NULL, &jobs.first}, waiting = {NULL, &waiting.first};
static long threads;
// Whether the end of all blocks will be reported.
static bool awaits_blocks;

static void *blocks;
static bool counts;

static int (*real_thread_create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
static void (*real_async)(void *queue, void *block);

static void find_originals(void) {
    real_thread_create = dlsym(RTLD_NEXT, "pthread_create");
    real_async = dlsym(RTLD_NEXT, "dispatch_async");
    if (real_thread_create && real_async) return;
    fputs("quiescence: libdispatch or the threads of libc were not found\n", stderr);
    abort();
}

static void originals(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, find_originals);
}

static void append(struct queue *queue, struct entry entry) {
    struct entry *copy = malloc(sizeof entry);
    if (!copy) abort();
    *copy = entry;
    *queue->end = copy;
    queue->end = &copy->next;
    pthread_cond_signal(&changed);
}

static struct entry take(struct queue *queue) {
    struct entry *first = queue->first, entry = *first;
    queue->first = entry.next;
    if (!queue->first) queue->end = &queue->first;
    free(first);
    return entry;
}

static __attribute__((swiftcall)) void enqueue(void *job, void *original) {
    (void)original;
    pthread_mutex_lock(&lock);
    append(&jobs, (struct entry){.job = job});
    pthread_mutex_unlock(&lock);
}

static void blocks_ended(void *unused) {
    (void)unused;
    pthread_mutex_lock(&lock);
    awaits_blocks = false;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
}

// Runs jobs, and calls the first waiter once nothing is left. A block can wait for a job, so that jobs run while blocks do.
static void *serve(void *unused) {
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!jobs.first && (!waiting.first || threads > 0 || awaits_blocks)) pthread_cond_wait(&changed, &lock);
        if (jobs.first) {
            struct entry entry = take(&jobs);
            pthread_mutex_unlock(&lock);
            swift_job_run(entry.job, (struct serial_executor){0});
            pthread_mutex_lock(&lock);
            continue;
        }
        // A block or a thread that adds work is still counted meanwhile, and a job or a thread needs this lock to be added.
        if (dispatch_group_wait(blocks, 0) != 0) {
            awaits_blocks = true;
            pthread_mutex_unlock(&lock);
            dispatch_group_notify_f(blocks, dispatch_get_global_queue(0, 0), NULL, blocks_ended);
            pthread_mutex_lock(&lock);
        } else {
            struct entry entry = take(&waiting);
            pthread_mutex_unlock(&lock);
            entry.resume(entry.context);
            pthread_mutex_lock(&lock);
        }
    }
    return unused;
}

void quiescence_begin(void) {
    originals();
    pthread_mutex_lock(&lock);
    bool is_first = !counts;
    if (is_first) {
        blocks = dispatch_group_create();
        pthread_t thread;
        if (real_thread_create(&thread, NULL, serve, NULL)) abort();
        counts = true;
        swift_task_enqueueGlobal_hook = enqueue;
    }
    pthread_mutex_unlock(&lock);
}

void quiescence_wait(void (*resume)(void *context), void *context) {
    pthread_mutex_lock(&lock);
    append(&waiting, (struct entry){.resume = resume, .context = context});
    pthread_mutex_unlock(&lock);
}

// MARK: - Definitions that the dynamic linker prefers

void dispatch_async(void *queue, void *block);
void dispatch_async(void *queue, void *block) {
    originals();
    if (!counts) return real_async(queue, block);
    dispatch_group_async(blocks, queue, block);
}

struct start {
    void *(*body)(void *);
    void *argument;
};

static void *run_counted(void *context) {
    struct start start = *(struct start *)context;
    free(context);
    void *result = start.body(start.argument);
    pthread_mutex_lock(&lock);
    threads--;
    pthread_cond_signal(&changed);
    pthread_mutex_unlock(&lock);
    return result;
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    originals();
    const char *caller = __builtin_return_address(0);
    bool is_own = caller >= &__executable_start && caller < &etext;
    if (!counts || !is_own) return real_thread_create(thread, attributes, body, argument);
    struct start *start = malloc(sizeof *start);
    if (!start) abort();
    *start = (struct start){body, argument};
    pthread_mutex_lock(&lock);
    threads++;
    pthread_mutex_unlock(&lock);
    int result = real_thread_create(thread, attributes, run_counted, start);
    if (result == 0) return 0;
    free(start);
    pthread_mutex_lock(&lock);
    threads--;
    pthread_mutex_unlock(&lock);
    return result;
}
