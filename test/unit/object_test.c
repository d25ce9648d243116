// SPDX-License-Identifier: MIT
// The table of live objects.
#include "driver/driver.h"
#include "../check.h"

static void
found_while_alive(void)
{
    struct event *e = object_new(OBJ_EVENT, sizeof *e);
    CHECK(object_get(e, OBJ_EVENT) == e);
    CHECK(!object_get(e, OBJ_STREAM));
    CHECK(!object_get((char *)e + 1, OBJ_EVENT));
    CHECK(!object_get(NULL, OBJ_EVENT));
    CHECK_INT(object_live(OBJ_EVENT), 1);
    CHECK_INT(e->flags, 0);
    object_retire(e);
    CHECK(!object_get(e, OBJ_EVENT));
    CHECK_INT(object_live(OBJ_EVENT), 0);
    object_free(e); // after a retire it only frees
    CHECK_INT(object_live(OBJ_EVENT), 0);
}

static void
ids_grow(void)
{
    struct object *a = object_new(OBJ_USER, sizeof *a), *b = object_new(OBJ_USER, sizeof *b);
    uint64_t last = b->id;
    CHECK(a->id < b->id);
    object_free(b);
    b = object_new(OBJ_USER, sizeof *b);
    CHECK(b->id > last);
    object_free(a);
    object_free(b);
}

enum { THREADS = 4, ROUNDS = 20000 };

static void *
churn(void *bad)
{
    for (int i = 0; i < ROUNDS; i++) {
        struct object *o = object_new(OBJ_USER, sizeof *o);
        if (object_get(o, OBJ_USER) != o)
            ++*(int *)bad;
        object_free(o);
    }
    return NULL;
}

static void
many_threads(void)
{
    pthread_t t[THREADS];
    int bad[THREADS] = {0};
    for (int i = 0; i < THREADS; i++)
        pthread_create(&t[i], NULL, churn, &bad[i]);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(t[i], NULL);
        CHECK_INT(bad[i], 0);
    }
    CHECK_INT(object_live(OBJ_USER), 0);
}

CHECK_MAIN(T(found_while_alive), T(ids_grow), T(many_threads))
