// SPDX-License-Identifier: MIT
// Log: lines to stderr and to <folder>/<program>-<pid>.log, which is made at the first line.
#define _GNU_SOURCE 1 // program_invocation_short_name
#include "base/log.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/options.h"

enum {
    DEFAULT_MASK = 1 << LOG_ERROR | 1 << LOG_UNSUPPORTED,
    FILES_KEPT = 50,
    LINE_MAX_ = 4096, // longer lines are cut
};

uint32_t log_mask_ = DEFAULT_MASK;

static const char *const channel_name[LOG_CHANNELS] = {
    [LOG_ERROR] = "error",   [LOG_UNSUPPORTED] = "unsupported", [LOG_INFO] = "info",
    [LOG_API] = "api",       [LOG_MODULE] = "module",           [LOG_COMPILE] = "compile",
    [LOG_LAUNCH] = "launch", [LOG_MEMORY] = "memory",           [LOG_STREAM] = "stream",
};

static bool to_stderr = true, to_file = true;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; // guards the two below
static int file = -1;
static pid_t file_pid; // process that tried to open the file; a forked child gets one of its own

// ---- the file ----
// The folder with ~ replaced; false if there is no home or no room.
static bool
folder(char *out, size_t size)
{
    const char *dir = opt_text(OPT_LOG_DIR), *home = "";
    if (dir[0] == '~' && (dir[1] == '/' || !dir[1])) {
        home = getenv("HOME");
        struct passwd *pw = home && *home ? NULL : getpwuid(getuid());
        if (pw)
            home = pw->pw_dir;
        if (!home || !*home)
            return false;
        dir++;
    }
    int n = snprintf(out, size, "%s%s", home, dir);
    return n > 0 && (size_t)n < size;
}

static bool
make_folder(char *path)
{
    for (char *p = path + 1; *p; p++) {
        if (*p != '/')
            continue;
        *p = 0;
        mkdir(path, 0700);
        *p = '/';
    }
    return !mkdir(path, 0700) || errno == EEXIST;
}

// True for <name>-<digits>.log, the names that we give.
static int
is_log(const struct dirent *e)
{
    size_t n = strlen(e->d_name), digits = 0;
    if (n < 6 || strcmp(e->d_name + n - 4, ".log"))
        return 0;
    for (n -= 4; n && e->d_name[n - 1] >= '0' && e->d_name[n - 1] <= '9'; n--)
        digits++;
    return digits && n && e->d_name[n - 1] == '-';
}

struct aged {
    char *name;
    struct timespec time;
};

static int
newest_first(const void *a, const void *b)
{
    const struct timespec *x = &((const struct aged *)a)->time;
    const struct timespec *y = &((const struct aged *)b)->time;
    if (x->tv_sec != y->tv_sec)
        return x->tv_sec < y->tv_sec ? 1 : -1;
    return x->tv_nsec < y->tv_nsec ? 1 : x->tv_nsec > y->tv_nsec ? -1 : 0;
}

// Removes the oldest files so that with a new one FILES_KEPT are left.
static void
forget_old(const char *dir)
{
    struct dirent **entry;
    int n = scandir(dir, &entry, is_log, NULL);
    if (n < 0)
        return;
    struct aged *aged = n >= FILES_KEPT ? calloc((size_t)n, sizeof *aged) : NULL;
    int fd = aged ? open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
    for (int i = 0; i < n && fd >= 0; i++) {
        struct stat st;
        aged[i].name = entry[i]->d_name;
        if (!fstatat(fd, aged[i].name, &st, AT_SYMLINK_NOFOLLOW))
            aged[i].time = st.st_mtim;
    }
    if (fd >= 0) {
        qsort(aged, (size_t)n, sizeof *aged, newest_first);
        for (int i = FILES_KEPT - 1; i < n; i++)
            unlinkat(fd, aged[i].name, 0);
        close(fd);
    }
    free(aged);
    for (int i = 0; i < n; i++)
        free(entry[i]);
    free(entry);
}

static int
open_file(pid_t pid)
{
    char dir[3000], path[3400];
    if (!folder(dir, sizeof dir) || !make_folder(dir))
        return -1;
    forget_old(dir);
    snprintf(path, sizeof path, "%s/%.200s-%d.log", dir, program_invocation_short_name, (int)pid);
    return open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0600);
}

// The file's descriptor for this process, or -1. Tried once a process.
static int
log_file(void)
{
    pid_t pid = getpid();
    pthread_mutex_lock(&lock);
    if (file_pid != pid) {
        if (file >= 0)
            close(file);
        file = open_file(pid);
        file_pid = pid;
    }
    int fd = file;
    pthread_mutex_unlock(&lock);
    return fd;
}

// ---- options ----
static uint32_t
channel_bit(const char *word, size_t len)
{
    if (len == 3 && !strncmp(word, "all", len))
        return (1u << LOG_CHANNELS) - 1;
    for (int c = 0; c < LOG_CHANNELS; c++)
        if (strlen(channel_name[c]) == len && !strncmp(word, channel_name[c], len))
            return 1u << c;
    return 0;
}

// Errors and unsupported calls are on in any case, unless `none` is given.
static uint32_t
read_mask(void)
{
    uint32_t mask = DEFAULT_MASK;
    for (const char *p = opt_text(OPT_LOG); *p;) {
        p += strspn(p, ", ");
        size_t len = strcspn(p, ", ");
        mask |= channel_bit(p, len);
        p += len;
    }
    return opt_has(OPT_LOG, "none") ? 0 : mask;
}

static void
read_options(void)
{
    to_stderr = !opt_has(OPT_LOG, "nostderr");
    to_file = !opt_has(OPT_LOG, "nofile");
    log_mask_ = read_mask();
}

// A child may be forked while a thread holds the lock.
static void
before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void
after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

static void
init(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
    read_options();
}

void
log_init(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, init);
}

// ---- lines ----
// The log must not disturb the program: errors of write(2) are ignored and errno is kept.
static void
write_line(int fd, const char *s, size_t n)
{
    while (n) {
        ssize_t w = write(fd, s, n);
        if (w < 0 && errno == EINTR)
            continue;
        if (w <= 0)
            return;
        s += w;
        n -= (size_t)w;
    }
}

void
log_write(enum log_channel c, const char *fmt, ...)
{
    int saved_errno = errno;
    log_init();
    char line[LINE_MAX_];
    struct timespec ts;
    struct tm tm;
    clock_gettime(CLOCK_REALTIME, &ts);
    localtime_r(&ts.tv_sec, &tm);
    size_t head = strftime(line, sizeof line, "%H:%M:%S", &tm);
    head += (size_t)snprintf(line + head, sizeof line - head, ".%06ld %ld ", ts.tv_nsec / 1000,
                             syscall(SYS_gettid));
    // stderr gets "polywarp: channel: text", the file "time thread channel: text": one buffer for
    // both, with the common end placed behind the longer beginning.
    static const char brief[] = "polywarp: ";
    size_t n = head + (size_t)snprintf(line + head, sizeof line - head, "%s: ", channel_name[c]);
    va_list ap;
    va_start(ap, fmt);
    int len = vsnprintf(line + n, sizeof line - n - 1, fmt, ap);
    va_end(ap);
    if (len > 0)
        n += (size_t)len < sizeof line - n - 1 ? (size_t)len : sizeof line - n - 2;
    line[n++] = '\n';
    int fd = to_file ? log_file() : -1;
    if (fd >= 0)
        write_line(fd, line, n);
    if (to_stderr) {
        char *start = line + head - (sizeof brief - 1);
        memcpy(start, brief, sizeof brief - 1);
        write_line(STDERR_FILENO, start, n - (size_t)(start - line));
    }
    errno = saved_errno;
}
