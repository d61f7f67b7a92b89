#include "CNightshiftProcess.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>

// The number of signals that were caught and not waited for yet. A signal handler may call sem_post(3).
static sem_t caught;

static void catch_signal(int number) {
    (void)number;
    int error = errno;
    sem_post(&caught);
    errno = error;
}

static void prepare_to_catch(void) {
    sem_init(&caught, 0, 0);
}

static void prepare_to_catch_once(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, prepare_to_catch);
}

void nightshift_catch_signal(int number) {
    prepare_to_catch_once();
    struct sigaction action = {.sa_handler = catch_signal, .sa_flags = SA_RESTART};
    sigaction(number, &action, NULL);
}

void nightshift_wait_for_signal(void) {
    prepare_to_catch_once();
    while (sem_wait(&caught) != 0) {
    }
}
