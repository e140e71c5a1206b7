/* A stand-in for NVIDIA's libnvidia-ml.so.1, for tests. It is no driver and proves nothing about cards.
 *
 * Compiled against NVIDIA's own nvml.h (PyPI: nvidia-nvml-dev) with -Werror, so that a wrong signature does not compile.
 * NVML_STANDIN names a file of lines "WORD VALUE..."; a line "gpu" begins a card that is healthy unless the lines after
 * it say otherwise. With -DOLD it lacks what older drivers lack. */
#include <nvml.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define CARDS 16
#define PROCESSES 32
#define KNOW(handle) \
  struct card *card = (struct card *)(handle); \
  if (count < 0) return NVML_ERROR_UNINITIALIZED; \
  if (card < cards || card >= cards + count) return NVML_ERROR_INVALID_ARGUMENT; \
  if (card->lost) return NVML_ERROR_GPU_IS_LOST

static struct card {
  char uuid[96], name[96], bus[32], p2p[CARDS + 1];
  unsigned long long memory, used; /* MiB */
  int major, minor, node, lost, mig, mode, persistence, pending, failed;
  unsigned limit, usual; /* mW */
  unsigned width, max_width, generation, max_generation, card_generation;
  unsigned long long slowed, uncorrected;
  int processes;
  unsigned pids[PROCESSES];
  unsigned long long sizes[PROCESSES]; /* MiB */
} cards[CARDS];
static int count = -1, cuda = 13000, init = NVML_SUCCESS;
static char driver[80] = "595.71.05";

static void begin(struct card *card, int index) {
  memset(card, 0, sizeof *card);
  snprintf(card->uuid, sizeof card->uuid, "GPU-%08d-0000-0000-0000-000000000000", index);
  snprintf(card->name, sizeof card->name, "NVIDIA RTX PRO 6000 Blackwell Server Edition");
  snprintf(card->bus, sizeof card->bus, "00000000:%02X:00.0", 16 + index);
  memset(card->p2p, 'P', CARDS);
  card->memory = 97887, card->used = 500, card->major = 12, card->node = index / 4, card->persistence = 1;
  card->limit = card->usual = 600000;
  card->width = card->max_width = 16;
  card->generation = 1, card->max_generation = card->card_generation = 5;
}

static void wrong(const char *line) {
  fprintf(stderr, "NVML stand-in: no such line: %s", line);
  abort();
}

static void about_card(struct card *card, const char *line) {
  unsigned pid;
  unsigned long long size;
  if (sscanf(line, "process %u %llu", &pid, &size) == 2) {
    card->pids[card->processes] = pid, card->sizes[card->processes++] = size, card->used += size;
    return;
  }
  int found = sscanf(line, "uuid %95s", card->uuid) + sscanf(line, "name %95[^\n]", card->name) +
              sscanf(line, "bus %31s", card->bus) + sscanf(line, "p2p %16s", card->p2p) +
              sscanf(line, "used %llu", &card->used) + sscanf(line, "memory %llu", &card->memory) +
              sscanf(line, "capability %d.%d", &card->major, &card->minor) + sscanf(line, "node %d", &card->node) +
              sscanf(line, "lost %d", &card->lost) + sscanf(line, "mig %d", &card->mig) +
              sscanf(line, "mode %d", &card->mode) + sscanf(line, "persistence %d", &card->persistence) +
              sscanf(line, "pending %d", &card->pending) + sscanf(line, "failed %d", &card->failed) +
              sscanf(line, "limit %u", &card->limit) + sscanf(line, "width %u", &card->width) +
              sscanf(line, "max_generation %u", &card->max_generation) +
              sscanf(line, "slowed %llu", &card->slowed) + sscanf(line, "uncorrected %llu", &card->uncorrected);
  if (found < 1) wrong(line);
}

static nvmlReturn_t load(void) {
  const char *path = getenv("NVML_STANDIN");
  FILE *file = path ? fopen(path, "r") : NULL;
  char line[256];
  int seconds;
  if (!file) return NVML_ERROR_DRIVER_NOT_LOADED;
  count = 0;
  while (fgets(line, sizeof line, file)) {
    if (!strncmp(line, "gpu", 3) && count < CARDS) begin(&cards[count], count), count++;
    else if (sscanf(line, "hang %d", &seconds) == 1) sleep((unsigned)seconds);
    else if (count) about_card(&cards[count - 1], line);
    else if (sscanf(line, "driver %79s", driver) + sscanf(line, "cuda %d", &cuda) + sscanf(line, "init %d", &init) < -1)
      wrong(line);
  }
  fclose(file);
  return (nvmlReturn_t)init;
}

static nvmlReturn_t put(char *into, unsigned size, const char *text) {
  if (strlen(text) >= size) return NVML_ERROR_INSUFFICIENT_SIZE;
  strcpy(into, text);
  return NVML_SUCCESS;
}

nvmlReturn_t nvmlInit_v2(void) { return load(); }
nvmlReturn_t nvmlInitWithFlags(unsigned int flags) { return flags ? NVML_ERROR_NOT_SUPPORTED : load(); }
nvmlReturn_t nvmlShutdown(void) { count = -1; return NVML_SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t code) {
  static char text[80];
  snprintf(text, sizeof text, "stand-in for NVML: code %d", (int)code);
  return text;
}
nvmlReturn_t nvmlSystemGetNVMLVersion(char *text, unsigned int size) { return put(text, size, "a stand-in, not NVIDIA's"); }
nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int size) { return put(text, size, driver); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = cuda; return NVML_SUCCESS; }
nvmlReturn_t nvmlSystemGetCudaDriverVersion(int *version) { return nvmlSystemGetCudaDriverVersion_v2(version); }
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *found) {
  if (count < 0) return NVML_ERROR_UNINITIALIZED;
  *found = (unsigned)count;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned int index, nvmlDevice_t *device) {
  if (count < 0) return NVML_ERROR_UNINITIALIZED;
  if (index >= (unsigned)count) return NVML_ERROR_INVALID_ARGUMENT;
  *device = (nvmlDevice_t)&cards[index];
  return cards[index].lost ? NVML_ERROR_GPU_IS_LOST : NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *text, unsigned int size) { KNOW(d); return put(text, size, card->uuid); }
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *text, unsigned int size) { KNOW(d); return put(text, size, card->name); }
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *pci) {
  KNOW(d);
  memset(pci, 0, sizeof *pci);
  return put(pci->busId, sizeof pci->busId, card->bus);
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *memory) {
  KNOW(d);
  memory->total = card->memory << 20, memory->used = card->used << 20, memory->free = memory->total - memory->used;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) {
  KNOW(d);
  *major = card->major, *minor = card->minor;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned int *found, nvmlProcessInfo_t *into) {
  KNOW(d);
  unsigned room = *found;
  *found = (unsigned)card->processes;
  for (unsigned i = 0; into && i < room && i < *found; i++) {
    memset(&into[i], 0, sizeof *into);
    into[i].pid = card->pids[i], into[i].usedGpuMemory = card->sizes[i] << 20;
  }
  return *found > room ? NVML_ERROR_INSUFFICIENT_SIZE : NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetGraphicsRunningProcesses_v3(nvmlDevice_t d, unsigned int *found, nvmlProcessInfo_t *into) {
  KNOW(d);
  (void)into, *found = 0;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerManagementLimit(nvmlDevice_t d, unsigned int *limit) { KNOW(d); *limit = card->limit; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPowerManagementDefaultLimit(nvmlDevice_t d, unsigned int *limit) { KNOW(d); *limit = card->usual; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkWidth(nvmlDevice_t d, unsigned int *width) { KNOW(d); *width = card->width; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkWidth(nvmlDevice_t d, unsigned int *width) { KNOW(d); *width = card->max_width; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCurrPcieLinkGeneration(nvmlDevice_t d, unsigned int *g) { KNOW(d); *g = card->generation; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMaxPcieLinkGeneration(nvmlDevice_t d, unsigned int *g) { KNOW(d); *g = card->max_generation; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t d, nvmlComputeMode_t *mode) { KNOW(d); *mode = (nvmlComputeMode_t)card->mode; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, nvmlEnableState_t *mode) { KNOW(d); *mode = (nvmlEnableState_t)card->persistence; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetMigMode(nvmlDevice_t d, unsigned int *now, unsigned int *next) { KNOW(d); *now = *next = (unsigned)card->mig; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetP2PStatus(nvmlDevice_t d, nvmlDevice_t e, nvmlGpuP2PCapsIndex_t what, nvmlGpuP2PStatus_t *status) {
  KNOW(d);
  char kind = card->p2p[(struct card *)e - cards]; /* N: NVLink, P: over PCIe, C: the chipset refuses */
  *status = kind == 'C' ? NVML_P2P_STATUS_CHIPSET_NOT_SUPPORTED
          : what == NVML_P2P_CAPS_INDEX_NVLINK && kind != 'N' ? NVML_P2P_STATUS_NOT_SUPPORTED : NVML_P2P_STATUS_OK;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTopologyCommonAncestor(nvmlDevice_t d, nvmlDevice_t e, nvmlGpuTopologyLevel_t *level) {
  KNOW(d);
  *level = card->node == ((struct card *)e)->node ? NVML_TOPOLOGY_HOSTBRIDGE : NVML_TOPOLOGY_SYSTEM;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryAffinity(nvmlDevice_t d, unsigned int size, unsigned long *set, nvmlAffinityScope_t scope) {
  KNOW(d);
  if (!size || scope != NVML_AFFINITY_SCOPE_NODE || card->node < 0) return NVML_ERROR_NOT_SUPPORTED;
  memset(set, 0, size * sizeof *set);
  set[0] = 1UL << card->node;
  return NVML_SUCCESS;
}
#ifndef OLD
nvmlReturn_t nvmlDeviceGetGpuMaxPcieLinkGeneration(nvmlDevice_t d, unsigned int *g) { KNOW(d); *g = card->card_generation; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetCurrentClocksEventReasons(nvmlDevice_t d, unsigned long long *why) { KNOW(d); *why = card->slowed; return NVML_SUCCESS; }
nvmlReturn_t nvmlDeviceGetRemappedRows(nvmlDevice_t d, unsigned int *a, unsigned int *b, unsigned int *pending, unsigned int *failed) {
  KNOW(d);
  *a = *b = 0, *pending = (unsigned)card->pending, *failed = (unsigned)card->failed;
  return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetFieldValues(nvmlDevice_t d, int number, nvmlFieldValue_t *values) {
  KNOW(d);
  for (int i = 0; i < number; i++) {
    int known = values[i].fieldId == NVML_FI_DEV_ECC_DBE_VOL_TOTAL;
    values[i].nvmlReturn = known ? NVML_SUCCESS : NVML_ERROR_NOT_SUPPORTED;
    values[i].value.ullVal = card->uncorrected;
  }
  return NVML_SUCCESS;
}
#endif
