// SPDX-License-Identifier: MIT
// The cache of compiled kernels: hits, damage, eviction, sharing.
#include "check.h"

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "backend/cpu/cache.h"

static char folder[] = "/tmp/polywarp_cache_XXXXXX", path[128];

static struct hash128
key(uint64_t n)
{
    return (struct hash128){n, ~n};
}

static struct cache *
fresh(int64_t limit)
{
    unlink(path);
    return cache_open(path, limit);
}

static void
put_text(struct cache *c, uint64_t n, const char *text)
{
    cache_put(c, key(n), text, strlen(text) + 1);
}

static void
check_text(struct cache *c, uint64_t n, const char *want)
{
    size_t size = 0;
    char *got = cache_get(c, key(n), &size);
    if (want)
        CHECK_STR(got, want);
    else
        CHECK(got == NULL);
    free(got);
}

static void
hits_and_misses(void)
{
    snprintf(path, sizeof path, "%s/deep/er/kernels.db", mkdtemp(folder));
    struct cache *c = fresh(1 << 20);
    CHECK(c != NULL);
    check_text(c, 1, NULL);
    put_text(c, 1, "one");
    put_text(c, 2, "two");
    check_text(c, 1, "one");
    put_text(c, 1, "uno");
    check_text(c, 1, "uno");
    check_text(c, 2, "two");
    cache_close(c);
    c = cache_open(path, 1 << 20); // lasting
    check_text(c, 2, "two");
    cache_close(c);
}

static void
evicts_the_least_recently_used(void)
{
    struct cache *c = fresh(3000);
    char big[1000];
    for (uint64_t n = 1; n <= 3; n++)
        cache_put(c, key(n), memset(big, 'a' + (int)n, sizeof big), sizeof big);
    size_t size;
    free(cache_get(c, key(1), &size)); // 2 is now the oldest
    CHECK_INT(size, 1000);
    cache_put(c, key(4), big, sizeof big);
    check_text(c, 2, NULL);
    for (uint64_t n = 1; n <= 4; n++) {
        void *p = cache_get(c, key(n), &size);
        CHECK_INT(p != NULL, n != 2);
        free(p);
    }
    char huge[4000] = {0};
    cache_put(c, key(9), huge, sizeof huge); // larger than the cache: not taken
    check_text(c, 9, NULL);
    cache_close(c);
}

static void
torn_entry_is_dropped(void)
{
    struct cache *c = fresh(1 << 20);
    put_text(c, 1, "whole");
    cache_close(c);
    sqlite3 *db;
    sqlite3_open(path, &db);
    CHECK_INT(sqlite3_exec(db, "UPDATE kernels SET object = X'6162'", NULL, NULL, NULL), SQLITE_OK);
    sqlite3_close(db);
    c = cache_open(path, 1 << 20);
    check_text(c, 1, NULL);
    put_text(c, 1, "again");
    check_text(c, 1, "again");
    cache_close(c);
}

static void
write_file(const char *text)
{
    char name[160];
    snprintf(name, sizeof name, "%s-wal", path);
    unlink(name);
    snprintf(name, sizeof name, "%s-shm", path);
    unlink(name);
    FILE *f = fopen(path, "w");
    for (int i = 0; i < 500; i++)
        fputs(text, f);
    fclose(f);
}

static void
foreign_file_is_replaced(void)
{
    write_file("this is no database; ");
    struct cache *c = cache_open(path, 1 << 20);
    CHECK(c != NULL);
    put_text(c, 5, "five");
    check_text(c, 5, "five");
    cache_close(c);
    unlink(path);
    sqlite3 *db;
    sqlite3_open(path, &db);
    sqlite3_exec(db, "PRAGMA user_version = 77; CREATE TABLE x (y);", NULL, NULL, NULL);
    sqlite3_close(db);
    c = cache_open(path, 1 << 20);
    CHECK(c != NULL);
    check_text(c, 5, NULL);
    put_text(c, 5, "five");
    check_text(c, 5, "five");
    cache_close(c);
}

static void
unusable_path(void)
{
    CHECK(cache_open("/proc/nowhere/kernels.db", 1 << 20) == NULL);
    check_text(NULL, 1, NULL);
    cache_put(NULL, key(1), "x", 1);
}

// Two processes write at the same time; both find all entries afterwards.
static void
processes_share(void)
{
    cache_close(fresh(1 << 20));
    fflush(stdout);
    pid_t pid = fork();
    struct cache *c = cache_open(path, 1 << 20);
    uint64_t base = pid ? 0 : 100;
    char text[32];
    for (uint64_t n = 0; n < 50; n++) {
        snprintf(text, sizeof text, "entry %d", (int)(base + n));
        put_text(c, base + n, text);
    }
    cache_close(c);
    if (!pid)
        _exit(0);
    waitpid(pid, NULL, 0);
    c = cache_open(path, 1 << 20);
    for (int n = 0; n < 150; n += 1) {
        snprintf(text, sizeof text, "entry %d", n);
        if (n < 50 || n >= 100)
            check_text(c, (uint64_t)n, text);
    }
    cache_close(c);
    char command[200];
    snprintf(command, sizeof command, "rm -r %s", folder);
    CHECK_INT(system(command), 0);
}

CHECK_MAIN(T(hits_and_misses), T(evicts_the_least_recently_used), T(torn_entry_is_dropped),
           T(foreign_file_is_replaced), T(unusable_path), T(processes_share))
