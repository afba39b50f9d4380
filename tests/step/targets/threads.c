/* SPDX-License-Identifier: Apache-2.0 */
/* threads.c - threads: their start and their ends by return, exit and cancellation; locks, waits.
 * BUILD o2: gcc -O2 -pthread
 * FROM main */
#include <pthread.h>
#include <semaphore.h>
#include <stdlib.h>
#include <unistd.h>

#define TIMES 5

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_key_t key;
static int turn, destroyed;
static sem_t begun;

static void destroy(void *value)
{
	free(value);
	__atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static void unlock(void *mutex)
{
	pthread_mutex_unlock(mutex);
}

static void wait_for_turn(int mine)
{
	pthread_mutex_lock(&lock);
	pthread_cleanup_push(unlock, &lock);
	while (turn % 2 != mine)
		pthread_cond_wait(&changed, &lock);
	turn++;
	pthread_cond_signal(&changed);
	pthread_cleanup_pop(1);
}

static void *takes_turns(void *arg)
{
	pthread_setspecific(key, malloc(8));
	for (int i = 0; i < TIMES; i++)
		wait_for_turn(arg != NULL);
	return arg;
}

static void *exits(void *arg)
{
	pthread_setspecific(key, malloc(8));
	pthread_cleanup_push(unlock, &lock);
	pthread_mutex_lock(&lock);
	pthread_exit(arg);
	pthread_cleanup_pop(0);
	return NULL;
}

static void *waits(void *arg)
{
	sem_post(&begun);
	pause();
	return arg;
}

int main(void)
{
	pthread_t threads[4];
	void *result;

	pthread_key_create(&key, destroy);
	sem_init(&begun, 0, 0);
	pthread_create(&threads[0], NULL, takes_turns, NULL);
	pthread_create(&threads[1], NULL, takes_turns, &turn);
	pthread_join(threads[0], NULL);
	pthread_join(threads[1], NULL);
	pthread_create(&threads[2], NULL, exits, &turn);
	pthread_join(threads[2], &result);
	pthread_create(&threads[3], NULL, waits, NULL);
	sem_wait(&begun);
	pthread_cancel(threads[3]);
	pthread_join(threads[3], NULL);
	return turn != 2 * TIMES || destroyed != 3 || result != &turn;
}
