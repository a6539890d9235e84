/* A stand-in for libcuda that records what it is asked. One device, an sm_90 (FAKE_CUDA_MAJOR says otherwise); no kernel ever runs.
 *
 * It writes a line for each call worth checking to the file named by FAKE_CUDA_LOG. A module whose text contains "BAD" is
 * refused with a JIT log. FAKE_CUDA_LAUNCH_STATUS makes the first launch fail with that status.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef int CUresult;
static __thread void *current;
static __thread int capture_mode; /* 0 global, 2 relaxed */
static int primary, module, function, launches, dynamic_shared;

static void note(const char *format, ...) {
    const char *path = getenv("FAKE_CUDA_LOG");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    va_list arguments;
    va_start(arguments, format);
    vfprintf(file, format, arguments);
    va_end(arguments);
    fputc('\n', file);
    fclose(file);
}

CUresult cuInit(unsigned flags) { return 0; }
CUresult cuDriverGetVersion(int *version) { *version = 12040; return 0; }
CUresult cuDeviceGetCount(int *count) { *count = 1; return 0; }
CUresult cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
CUresult cuDeviceGetName(char *name, int length, int device) { strncpy(name, "Fake H", length); return 0; }
CUresult cuDevicePrimaryCtxRetain(void **context, int device) { note("retain"); *context = &primary; return 0; }
CUresult cuCtxGetCurrent(void **context) { *context = current; return 0; }
CUresult cuCtxSetCurrent(void *context) { note("current %s", context == &primary ? "primary" : "other"); current = context; return 0; }
CUresult cuCtxGetDevice(int *device) { if (!current) return 201; *device = 0; return 0; }

CUresult cuDeviceGetAttribute(int *value, int attribute, int device) {
    switch (attribute) {
    case 1: *value = 1024; break;            /* MAX_THREADS_PER_BLOCK */
    case 2: case 3: *value = 1024; break;    /* MAX_BLOCK_DIM_X, Y */
    case 4: *value = 64; break;              /* MAX_BLOCK_DIM_Z */
    case 16: *value = 132; break;            /* MULTIPROCESSOR_COUNT */
    case 75: *value = getenv("FAKE_CUDA_MAJOR") ? atoi(getenv("FAKE_CUDA_MAJOR")) : 9; break; /* COMPUTE_CAPABILITY_MAJOR */
    case 76: *value = 0; break;              /* COMPUTE_CAPABILITY_MINOR */
    case 97: *value = 232448; break;         /* MAX_SHARED_MEMORY_PER_BLOCK_OPTIN */
    case 120: *value = !getenv("FAKE_CUDA_MAJOR"); break; /* CLUSTER_LAUNCH */
    default: *value = 0;
    }
    return 0;
}

static const char *jit_log =
    "ptxas application ptx input, line 5; error   : Unknown modifier '.f33'\nptxas fatal   : Ptx assembly aborted due to errors";

CUresult cuModuleLoadDataEx(void **out, const void *image, unsigned count, int *options, void **values) {
    char *log = NULL;
    size_t room = 0;
    int registers = 0, lines = 0;
    for (unsigned i = 0; i < count; i++) {
        if (options[i] == 5) log = values[i];                       /* ERROR_LOG_BUFFER */
        if (options[i] == 6) room = (unsigned)(uintptr_t)values[i]; /* ERROR_LOG_BUFFER_SIZE_BYTES */
        if (options[i] == 0) registers = (int)(uintptr_t)values[i]; /* MAX_REGISTERS */
        if (options[i] == 13) lines = (int)(uintptr_t)values[i];    /* GENERATE_LINE_INFO */
    }
    note("jit current=%s capture=%d registers=%d lines=%d log=%zu", current == &primary ? "primary" : "none", capture_mode, registers,
         lines, room);
    if (strstr(image, "BAD")) {
        snprintf(log, room, "%s", jit_log);
        return 218;
    }
    *out = &module;
    return 0;
}
CUresult cuModuleLoadData(void **out, const void *image) {
    note("image %.3s", (const char *)image + 1);
    *out = &module;
    return 0;
}
CUresult cuModuleGetFunction(void **out, void *from, const char *name) {
    if (!strcmp(name, "absent")) return 500;
    *out = &function;
    return 0;
}
CUresult cuFuncLoad(void *from) { note("load capture=%d", capture_mode); return 0; }
CUresult cuFuncGetAttribute(int *value, int attribute, void *from) {
    *value = attribute == 0 ? 512 : attribute == 1 ? 1024 : attribute == 4 ? 64 : 0; /* threads, static shared, registers */
    return 0;
}
CUresult cuFuncSetAttribute(void *from, int attribute, int value) {
    note("set %d %d", attribute, value);
    if (attribute == 8) dynamic_shared = value;
    return 0;
}
CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, void *from, int threads, size_t shared) { *blocks = 2; return 0; }

static CUresult launch_status(void) {
    const char *status = getenv("FAKE_CUDA_LAUNCH_STATUS");
    return launches++ == 0 && status ? atoi(status) : current ? 0 : 201;
}
/* Parameters as the tests declare them: u64, u64, f32, u32. */
CUresult cuLaunchKernel(void *from, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                        void *stream, void **params, void **extra) {
    CUresult status = launch_status();
    note("launch %u %u %u | %u %u %u | %u | %p | %d", gx, gy, gz, bx, by, bz, shared, stream, status);
    if (!status && params)
        note("params %llx %llx %g %u", *(unsigned long long *)params[0], *(unsigned long long *)params[1], *(float *)params[2],
             *(unsigned *)params[3]);
    return status;
}
typedef struct { unsigned id; char pad[4]; union { int cooperative; struct { unsigned x, y, z; } cluster; char room[64]; } value; } Attribute;
typedef struct { unsigned gx, gy, gz, bx, by, bz, shared; void *stream; Attribute *attributes; unsigned count; } Config;
CUresult cuLaunchKernelEx(const Config *config, void *from, void **params, void **extra) {
    note("launchex %u %u %u | %u | %u", config->gx, config->gy, config->gz, config->shared, config->count);
    for (unsigned i = 0; i < config->count; i++) {
        Attribute *a = &config->attributes[i];
        if (a->id == 4) note("cluster %u %u %u", a->value.cluster.x, a->value.cluster.y, a->value.cluster.z);
        if (a->id == 2) note("cooperative %d", a->value.cooperative);
        if (a->id == 6) note("programmatic %d", a->value.cooperative);
    }
    return launch_status();
}
/* Blocks of a cluster share a bar of at most 12 multiprocessors: what needs one for itself fits up to 12 times. */
static unsigned cluster_blocks(const Config *config) {
    for (unsigned i = 0; i < config->count; i++) {
        Attribute *a = &config->attributes[i];
        if (a->id == 4) return a->value.cluster.x * a->value.cluster.y * a->value.cluster.z;
    }
    return 1;
}
CUresult cuOccupancyMaxPotentialClusterSize(int *size, void *from, const Config *config) {
    *size = config->shared > 100000 ? 12 : 16;
    return 0;
}
CUresult cuOccupancyMaxActiveClusters(int *clusters, void *from, const Config *config) {
    int largest;
    cuOccupancyMaxPotentialClusterSize(&largest, from, config);
    *clusters = cluster_blocks(config) > (unsigned)largest ? 0 : 7;
    return 0;
}
/* Written as plain words, so that a test can read back what was asked. */
CUresult cuTensorMapEncodeTiled(uint64_t *map, int kind, unsigned rank, void *address, const uint64_t *shape, const uint64_t *strides,
                                const unsigned *box, const unsigned *steps, int interleave, int swizzle, int promotion, int fill) {
    char text[400];
    int end = snprintf(text, sizeof text, "encode kind %d rank %u at %p |", kind, rank, address);
    for (unsigned i = 0; i < rank; i++) end += snprintf(text + end, sizeof text - end, " %llu", (unsigned long long)shape[i]);
    end += snprintf(text + end, sizeof text - end, " |");
    for (unsigned i = 0; i + 1 < rank; i++) end += snprintf(text + end, sizeof text - end, " %llu", (unsigned long long)strides[i]);
    end += snprintf(text + end, sizeof text - end, " |");
    for (unsigned i = 0; i < rank; i++) end += snprintf(text + end, sizeof text - end, " %u", box[i]);
    end += snprintf(text + end, sizeof text - end, " |");
    for (unsigned i = 0; i < rank; i++) end += snprintf(text + end, sizeof text - end, " %u", steps[i]);
    snprintf(text + end, sizeof text - end, " | %d %d %d %d", interleave, swizzle, promotion, fill);
    note("%s", text);
    for (int i = 0; i < 16; i++) map[i] = 1000 + i;
    map[0] = (uint64_t)address;
    return 0;
}
CUresult cuThreadExchangeStreamCaptureMode(int *mode) { int before = capture_mode; capture_mode = *mode; *mode = before; return 0; }
CUresult cuPointerGetAttribute(void *value, int attribute, unsigned long long pointer) { *(int *)value = 0; return 0; }
CUresult cuGetErrorName(CUresult status, const char **text) {
    *text = status == 218 ? "CUDA_ERROR_INVALID_PTX" : status == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS" : "CUDA_ERROR_OTHER";
    return 0;
}
CUresult cuGetErrorString(CUresult status, const char **text) { *text = "a description"; return 0; }

CUresult cuGetProcAddress_v2(const char *name, void **out, int version, uint64_t flags, int *found) {
    char shorter[128];
    snprintf(shorter, sizeof shorter, "%s", name);
    *out = dlsym(RTLD_DEFAULT, shorter);
    if (!*out) {
        void *self = dlopen("libcuda.so.1", RTLD_NOLOAD | RTLD_LAZY);
        *out = self ? dlsym(self, shorter) : NULL;
    }
    if (found) *found = *out ? 0 : 1;
    return 0;
}
