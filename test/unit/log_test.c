// SPDX-License-Identifier: MIT
// Options and the log: parsing, channels, the file's place, mode and number.
#define _GNU_SOURCE 1
#include "../check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"
#include "base/options.h"

static char dir[] = "/tmp/log_test.XXXXXX";
static char logs[64];

static void
put_old_files(void)
{
    char path[256];
    snprintf(path, sizeof path, "%s/a", dir);
    mkdir(path, 0700);
    mkdir(logs, 0700);
    for (int i = 1; i <= 60; i++) {
        snprintf(path, sizeof path, "%s/prog-%d.log", logs, i);
        close(open(path, O_CREAT | O_WRONLY, 0600));
        struct timespec t[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        utimensat(AT_FDCWD, path, t, 0);
    }
    snprintf(path, sizeof path, "%s/notes.log", logs);
    close(open(path, O_CREAT | O_WRONLY, 0600));
}

__attribute__((constructor(101))) static void
before_all(void)
{
    if (!mkdtemp(dir))
        abort();
    snprintf(logs, sizeof logs, "%s/a/b", dir);
    setenv("POLYWARP_LOG_DIR", logs, 1);
    setenv("POLYWARP_LOG", "info, Memory,nostderr,launch", 1);
    setenv("POLYWARP_MEMORY", "2G", 1);
    setenv("POLYWARP_THREADS", "many", 1);
    setenv("POLYWARP_DEBUG_EXIT", "yes", 1);
    unsetenv("POLYWARP_CACHE_SIZE");
    put_old_files();
}

static void
options(void)
{
    CHECK_STR(opt_text(OPT_LOG_DIR), logs);
    CHECK_STR(opt_text(OPT_DEVICE), getenv("POLYWARP_DEVICE") ? getenv("POLYWARP_DEVICE") : "auto");
    CHECK_INT(opt_int(OPT_MEMORY), INT64_C(2) << 30);
    CHECK_INT(opt_int(OPT_CACHE_SIZE), INT64_C(1) << 30);
    CHECK_INT(opt_int(OPT_THREADS), 0);
    CHECK(opt_bool(OPT_DEBUG_EXIT));
    CHECK(opt_has(OPT_LOG, "info") && opt_has(OPT_LOG, "memory") && opt_has(OPT_LOG, "nostderr"));
    CHECK(!opt_has(OPT_LOG, "mem") && !opt_has(OPT_LOG, "api"));
    setenv("POLYWARP_MEMORY", "1", 1); // values are fixed at the first use
    CHECK_INT(opt_int(OPT_MEMORY), INT64_C(2) << 30);
}

static void
channels(void)
{
    log_init();
    CHECK(log_on(LOG_ERROR) && log_on(LOG_UNSUPPORTED) && log_on(LOG_INFO) && log_on(LOG_LAUNCH));
    CHECK(!log_on(LOG_API) && !log_on(LOG_STREAM));
}

static int
count_files(void)
{
    int n = 0;
    DIR *d = opendir(logs);
    struct dirent *e;
    while (d && (e = readdir(d)))
        n += strstr(e->d_name, ".log") != NULL;
    if (d)
        closedir(d);
    return n;
}

static void
read_log(pid_t pid, char *text, size_t size, struct stat *st)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s-%d.log", logs, program_invocation_short_name, (int)pid);
    int fd = open(path, O_RDONLY);
    ssize_t n = fd >= 0 ? read(fd, text, size - 1) : 0;
    text[n > 0 ? n : 0] = 0;
    if (st && (fd < 0 || fstat(fd, st)))
        memset(st, 0, sizeof *st);
    if (fd >= 0)
        close(fd);
}

static void *
write_many(void *arg)
{
    for (int i = 0; i < 100; i++)
        LOG(LOG_INFO, "thread %s line %d", (char *)arg, i);
    return NULL;
}

static void
file(void)
{
    static char text[65536];
    struct stat st;
    log_init();
    log_write(LOG_INFO, "first %d", 1);
    CHECK_INT(count_files(), 51); // 50 of ours and one that is not
    read_log(getpid(), text, sizeof text, &st);
    CHECK(strstr(text, " info: first 1\n") != NULL);
    CHECK_INT(st.st_mode & 07777, 0600);
    LOG(LOG_API, "not shown");
    pthread_t t[2];
    pthread_create(&t[0], NULL, write_many, "a");
    pthread_create(&t[1], NULL, write_many, "b");
    pthread_join(t[0], NULL);
    pthread_join(t[1], NULL);
    read_log(getpid(), text, sizeof text, NULL);
    CHECK(!strstr(text, "not shown"));
    int whole = 0;
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        whole += strstr(line, " info: thread ") != NULL && strstr(line, " line ") != NULL;
    CHECK_INT(whole, 200);
}

static void
after_fork(void)
{
    char text[4096];
    pid_t pid = fork();
    if (!pid) {
        log_write(LOG_INFO, "child");
        _exit(0);
    }
    waitpid(pid, NULL, 0);
    read_log(pid, text, sizeof text, NULL);
    CHECK(strstr(text, " info: child\n") != NULL);
}

static void
long_line(void)
{
    static char big[10000], text[131072];
    memset(big, 'x', sizeof big - 1);
    log_write(LOG_INFO, "%s", big);
    read_log(getpid(), text, sizeof text, NULL);
    size_t n = strlen(text);
    CHECK(n > 4000 && text[n - 1] == '\n' && text[n - 2] == 'x');
}

__attribute__((destructor)) static void
after_all(void)
{
    char command[64];
    snprintf(command, sizeof command, "rm -rf %s", dir);
    if (system(command))
        fprintf(stderr, "%s is left\n", dir);
}

CHECK_MAIN(T(options), T(channels), T(file), T(after_fork), T(long_line))
