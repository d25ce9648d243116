// SPDX-License-Identifier: MIT
// One table: key, order of use, size, checksum, object. Entries whose checksum is wrong are
// dropped; a file that is no database of ours is replaced. `used` grows with every use, so the
// smallest are the least recently used.
#include "backend/cpu/cache.h"
#include "base/log.h"
#include "base/options.h"

#include <errno.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SCHEMA = 1, BUSY_MS = 2000 };

enum statement { GET, TOUCH, PUT, DROP, TOTAL, OLDEST, STATEMENTS };

static const char *const sql[STATEMENTS] = {
    [GET] = "SELECT sum, object FROM kernels WHERE key = ?1",
    [TOUCH] = "UPDATE kernels SET used = (SELECT max(used) + 1 FROM kernels) WHERE key = ?1",
    [PUT] = ("INSERT OR REPLACE INTO kernels (key, used, size, sum, object) VALUES "
             "(?1, (SELECT coalesce(max(used), 0) + 1 FROM kernels), ?2, ?3, ?4)"),
    [DROP] = "DELETE FROM kernels WHERE key = ?1",
    [TOTAL] = "SELECT coalesce(sum(size), 0) FROM kernels",
    [OLDEST] = "DELETE FROM kernels WHERE used = (SELECT min(used) FROM kernels)",
};

static const char schema[] = "PRAGMA application_id = 1347895121;"
                             "CREATE TABLE IF NOT EXISTS kernels (key BLOB PRIMARY KEY, used "
                             "INTEGER, size INTEGER, sum INTEGER, object BLOB);"
                             "CREATE INDEX IF NOT EXISTS by_use ON kernels (used, size);"
                             "PRAGMA user_version = 1;";

struct cache {
    pthread_mutex_t lock;
    sqlite3 *db;
    sqlite3_stmt *stmt[STATEMENTS];
    int64_t limit;
    bool broken; // errors that repeat: not used any more
};

static int
schema_version(sqlite3 *db)
{
    sqlite3_stmt *s = NULL;
    int v = -1;
    if (sqlite3_prepare_v2(db, "PRAGMA user_version", -1, &s, NULL) == SQLITE_OK &&
        sqlite3_step(s) == SQLITE_ROW)
        v = sqlite3_column_int(s, 0);
    sqlite3_finalize(s);
    return v;
}

static bool
prepare(struct cache *c)
{
    for (int i = 0; i < STATEMENTS; i++)
        if (sqlite3_prepare_v3(c->db, sql[i], -1, SQLITE_PREPARE_PERSISTENT, &c->stmt[i], NULL) !=
            SQLITE_OK)
            return false;
    return true;
}

static void
close_db(struct cache *c)
{
    for (int i = 0; i < STATEMENTS; i++) {
        sqlite3_finalize(c->stmt[i]);
        c->stmt[i] = NULL;
    }
    sqlite3_close(c->db);
    c->db = NULL;
}

// False when the file is not a usable database of this schema.
static bool
open_db(struct cache *c, const char *path)
{
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &c->db, flags, NULL) != SQLITE_OK)
        return false;
    sqlite3_busy_timeout(c->db, BUSY_MS);
    sqlite3_exec(c->db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;", NULL, NULL,
                 NULL);
    int version = schema_version(c->db);
    if (version == 0 && sqlite3_exec(c->db, schema, NULL, NULL, NULL) == SQLITE_OK)
        version = SCHEMA;
    return version == SCHEMA && prepare(c);
}

static void
remove_files(const char *path)
{
    static const char *const suffix[] = {"", "-wal", "-shm", "-journal"};
    char name[4096];
    for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++)
        if (snprintf(name, sizeof name, "%s%s", path, suffix[i]) < (int)sizeof name)
            unlink(name);
}

static void
make_folders(const char *path)
{
    char *copy = strdup(path);
    for (char *p = copy ? strchr(copy + 1, '/') : NULL; p; p = strchr(p + 1, '/')) {
        *p = 0;
        if (mkdir(copy, 0700) && errno != EEXIST)
            LOG(LOG_INFO, "cannot make folder %s: %s", copy, strerror(errno));
        *p = '/';
    }
    free(copy);
}

struct cache *
cache_open(const char *path, int64_t limit)
{
    struct cache *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->limit = limit;
    make_folders(path);
    if (open_db(c, path))
        return c;
    int error = c->db ? sqlite3_extended_errcode(c->db) : SQLITE_NOMEM;
    LOG(LOG_INFO, "kernel cache %s cannot be used (%s)", path, sqlite3_errstr(error));
    close_db(c);
    if ((error & 0xff) != SQLITE_BUSY && (error & 0xff) != SQLITE_CANTOPEN &&
        (error & 0xff) != SQLITE_READONLY) {
        remove_files(path);
        if (open_db(c, path))
            return c;
    }
    cache_close(c);
    return NULL;
}

void
cache_close(struct cache *c)
{
    if (!c)
        return;
    close_db(c);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

static int64_t
checksum(struct hash128 key, const void *object, size_t size)
{
    return (int64_t)hash128_more(key, object, size).lo;
}

static int
step_with_key(struct cache *c, enum statement which, const struct hash128 *key)
{
    if (key)
        sqlite3_bind_blob(c->stmt[which], 1, key, sizeof *key, SQLITE_STATIC);
    return sqlite3_step(c->stmt[which]);
}

static void
reset(struct cache *c, enum statement which)
{
    sqlite3_reset(c->stmt[which]);
    sqlite3_clear_bindings(c->stmt[which]);
}

static void
run_statement(struct cache *c, enum statement which, const struct hash128 *key)
{
    step_with_key(c, which, key);
    reset(c, which);
}

// After an error: a damaged database will not heal within this process.
static void
note_error(struct cache *c, int rc)
{
    if (rc == SQLITE_DONE || rc == SQLITE_ROW || rc == SQLITE_BUSY)
        return;
    if (!c->broken)
        LOG(LOG_INFO, "kernel cache: %s", sqlite3_errmsg(c->db));
    c->broken = true;
}

static void *
read_row(struct cache *c, struct hash128 key, size_t *size)
{
    const void *blob = sqlite3_column_blob(c->stmt[GET], 1);
    *size = (size_t)sqlite3_column_bytes(c->stmt[GET], 1);
    if (!blob || checksum(key, blob, *size) != sqlite3_column_int64(c->stmt[GET], 0))
        return NULL;
    void *copy = malloc(*size);
    if (copy)
        memcpy(copy, blob, *size);
    return copy;
}

void *
cache_get(struct cache *c, struct hash128 key, size_t *size)
{
    if (!c || c->broken)
        return NULL;
    pthread_mutex_lock(&c->lock);
    int rc = step_with_key(c, GET, &key);
    void *object = rc == SQLITE_ROW ? read_row(c, key, size) : NULL;
    reset(c, GET);
    note_error(c, rc);
    if (rc == SQLITE_ROW)
        run_statement(c, object ? TOUCH : DROP, &key); // a torn entry goes
    pthread_mutex_unlock(&c->lock);
    return object;
}

static int64_t
total(struct cache *c)
{
    int64_t n =
        sqlite3_step(c->stmt[TOTAL]) == SQLITE_ROW ? sqlite3_column_int64(c->stmt[TOTAL], 0) : 0;
    reset(c, TOTAL);
    return n;
}

void
cache_put(struct cache *c, struct hash128 key, const void *object, size_t size)
{
    if (!c || c->broken || size > INT32_MAX || (int64_t)size > c->limit)
        return;
    pthread_mutex_lock(&c->lock);
    sqlite3_stmt *s = c->stmt[PUT];
    sqlite3_bind_int64(s, 2, (int64_t)size);
    sqlite3_bind_int64(s, 3, checksum(key, object, size));
    sqlite3_bind_blob(s, 4, object, (int)size, SQLITE_STATIC);
    note_error(c, step_with_key(c, PUT, &key));
    reset(c, PUT);
    while (!c->broken && total(c) > c->limit) {
        int rc = step_with_key(c, OLDEST, NULL);
        reset(c, OLDEST);
        note_error(c, rc);
        if (rc != SQLITE_DONE)
            break;
    }
    pthread_mutex_unlock(&c->lock);
}

// ---- the process's cache
// ------------------------------------------------------------------------------------------
// "~" is the home folder; the default place follows XDG_CACHE_HOME.
static bool
expand(const char *option, char *out, size_t size)
{
    static const char dflt[] = "~/.cache/";
    const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
    int n;
    if (xdg && *xdg == '/' && !strcmp(option, option_table[OPT_CACHE].dflt) &&
        !strncmp(option, dflt, sizeof dflt - 1))
        n = snprintf(out, size, "%s/%s", xdg, option + sizeof dflt - 1);
    else if (option[0] == '~' && option[1] == '/')
        n = home && *home ? snprintf(out, size, "%s%s", home, option + 1) : -1;
    else
        n = snprintf(out, size, "%s", option);
    return n > 0 && (size_t)n < size;
}

static struct cache *the_cache;

static void
open_default(void)
{
    char path[4096];
    const char *option = opt_text(OPT_CACHE);
    if (!*option || !strcmp(option, "off"))
        return;
    if (expand(option, path, sizeof path))
        the_cache = cache_open(path, opt_int(OPT_CACHE_SIZE));
    else
        LOG(LOG_INFO, "no kernel cache: \"%s\" gives no path", option);
}

struct cache *
cache_default(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, open_default);
    return the_cache;
}
