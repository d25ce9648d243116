// SPDX-License-Identifier: MIT
// Log: channels switched by POLYWARP_LOG, written to stderr and to a file under ~/.polywarp/logs/.
// A channel that is off costs one load and one test.
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include <stdint.h>

enum log_channel {
    LOG_ERROR,       // a failure that the program sees: on by default
    LOG_UNSUPPORTED, // a call or instruction that we refuse: on by default
    LOG_INFO,        // devices found, cache, choices made
    LOG_API,         // each API call with arguments and result
    LOG_MODULE,      // images, chosen PTX, kernels
    LOG_COMPILE,     // compile times, cache hits
    LOG_LAUNCH,      // each launch
    LOG_MEMORY,      // allocations
    LOG_STREAM,      // queues, events, graphs
    LOG_CHANNELS
};

extern uint32_t log_mask_; // bit per channel

static inline int
log_on(enum log_channel c)
{
    return log_mask_ >> c & 1;
}

// Reads the options and opens the log file at the first line written. Called once by cuInit and tools.
void log_init(void);
void log_write(enum log_channel c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define LOG(channel, ...)                                                                          \
    do {                                                                                           \
        if (log_on(channel))                                                                       \
            log_write(channel, __VA_ARGS__);                                                       \
    } while (0)
#define log_error(...) LOG(LOG_ERROR, __VA_ARGS__)

#endif
