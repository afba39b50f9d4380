/* SPDX-License-Identifier: Apache-2.0 */
/* fakejvm.c - a program that exports the names of HotSpot's library, and makes its structs by hand:
 * code whose frames are known, or such as no JVM has. Run under the name libjvm.so.
 * Usage: libjvm.so [SECONDS [KIND]]
 *     whole       three frames of fake.Main.spin below a stub
 *     deep        3,000 of them
 *     cycle       the map of segments has no beginning
 *     outside     it leads out of the heap
 *     nowhere     all pointers lead to memory that there is not
 *     endless     frames of one word, and a stack full of return addresses
 *     changing    a thread writes new sizes and pointers all the time
 *     waits       what is inlined lies in memory that nobody gives
 *     many        a thread gives the code another of 1,024 methods all the time
 *
 * BUILD: -O1 -g -rdynamic -fPIE -pie -fno-omit-frame-pointer -mno-omit-leaf-frame-pointer
 * BUILD: -fno-optimize-sibling-calls -pthread
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define EXPORTED __attribute__((visibility("default"), used))
#define WORD(base, at) (*(volatile uint64_t *)((char *)(base) + (at)))
#define HALF(base, at) (*(volatile uint32_t *)((char *)(base) + (at)))
#define SHORT(base, at) (*(volatile uint16_t *)((char *)(base) + (at)))

#define HEAP_BYTES (1 << 20)
#define WAITING_BYTES (1 << 20) /* after it */
#define SEGMENT_LOG2 7
#define SEGMENTS (HEAP_BYTES >> SEGMENT_LOG2)
#define BLOCK_BYTES 16
#define HEAD_BYTES 128
#define SPIN_AT 1024 /* in the heap */
#define NOWHERE 0x123456789000ULL
#define DEEP 3000

/* Offsets in the structs. */
enum {
	BLOB_NAME = 0, BLOB_CODE = 8, BLOB_FRAME_SIZE = 16, BLOB_COMPLETE = 20, BLOB_BYTES = 24,
	NMETHOD_METHOD = 32, NMETHOD_COMPILE_ID = 40,
	NMETHOD_SCOPES = 48, NMETHOD_PCS = 56, NMETHOD_PCS_END = 60, NMETHOD_METADATA = 64,
	METHOD_CONST = 8,
	CONST_POOL = 8, CONST_FLAGS = 16, CONST_CODE_SIZE = 20, CONST_NAME = 22, CONST_WORDS = 24,
	CONST_BYTES = 48,
	POOL_HOLDER = 24, POOL_BYTES = 72,
	KLASS_NAME = 16,
	SYMBOL_LENGTH = 0, SYMBOL_BODY = 6,
};

static uint8_t *heap, segments[SEGMENTS];
static uint64_t code_heap[8], pointers[1], list[4], *heaps_variable = list, call_return;
static char methods[1024][64], method[64];
static char constant[128], pool[128], klass[64], class_symbol[64], method_symbol[64];

struct vm_struct {
	const char *type, *field, *of;
	int is_static;
	uint64_t offset;
	void *address;
};

struct vm_type {
	const char *name, *parent;
	int flags[3];
	uint64_t size;
};

#define FIELD(type, field, offset) { type, field, "", 0, offset, NULL }
static struct vm_struct structs[] = {
	{ "CodeCache", "_heaps", "", 1, 0, &heaps_variable },
	{ "StubRoutines", "_call_stub_return_address", "", 1, 0, &call_return },
	FIELD("GrowableArrayBase", "_len", 0),
	FIELD("GrowableArray<int>", "_data", 8),
	FIELD("CodeHeap", "_memory", 0),
	FIELD("CodeHeap", "_segmap", 16),
	FIELD("CodeHeap", "_log2_segment_size", 32),
	FIELD("VirtualSpace", "_low_boundary", 0),
	FIELD("VirtualSpace", "_high_boundary", 8),
	FIELD("CodeBlob", "_name", BLOB_NAME),
	FIELD("CodeBlob", "_code_begin", BLOB_CODE),
	FIELD("CodeBlob", "_frame_size", BLOB_FRAME_SIZE),
	FIELD("CodeBlob", "_frame_complete_offset", BLOB_COMPLETE),
	FIELD("CodeBlob", "_size", BLOB_BYTES),
	FIELD("nmethod", "_method", NMETHOD_METHOD),
	FIELD("nmethod", "_compile_id", NMETHOD_COMPILE_ID),
	FIELD("nmethod", "_scopes_data_begin", NMETHOD_SCOPES),
	FIELD("nmethod", "_scopes_pcs_offset", NMETHOD_PCS),
	FIELD("nmethod", "_dependencies_offset", NMETHOD_PCS_END),
	FIELD("nmethod", "_metadata_offset", NMETHOD_METADATA),
	FIELD("HeapBlock::Header", "_used", 8),
	FIELD("ConstMethod", "_constMethod_size", CONST_WORDS),
	FIELD("Method", "_constMethod", METHOD_CONST),
	FIELD("ConstMethod", "_constants", CONST_POOL),
	FIELD("ConstMethod", "_name_index", CONST_NAME),
	FIELD("ConstMethod", "_code_size", CONST_CODE_SIZE),
	FIELD("ConstMethod", "_flags", CONST_FLAGS),
	FIELD("ConstantPool", "_pool_holder", POOL_HOLDER),
	FIELD("Klass", "_name", KLASS_NAME),
	FIELD("Symbol", "_length", SYMBOL_LENGTH),
	FIELD("Symbol", "_body", SYMBOL_BODY),
	{ NULL, NULL, NULL, 0, 0, NULL },
};

static struct vm_type types[] = {
	{ "HeapBlock", NULL, { 0 }, BLOCK_BYTES },
	{ "ConstMethod", NULL, { 0 }, CONST_BYTES },
	{ "ConstantPool", NULL, { 0 }, POOL_BYTES },
	{ NULL, NULL, { 0 }, 0 },
};

EXPORTED struct vm_struct *gHotSpotVMStructs = structs;
EXPORTED struct vm_type *gHotSpotVMTypes = types;

EXPORTED int JNI_CreateJavaVM(void)
{
	return 0;
}

static void put_symbol(char *symbol, const char *text)
{
	SHORT(symbol, SYMBOL_LENGTH) = (uint16_t)strlen(text);
	memcpy(symbol + SYMBOL_BODY, text, strlen(text));
}

/* Its code. */
static uint8_t *put_blob(uint32_t at, const char *name, uint32_t frame_words, uint32_t complete)
{
	uint8_t *blob = heap + at + BLOCK_BYTES, *code = blob + HEAD_BYTES;

	WORD(blob, BLOB_NAME) = (uint64_t)name;
	WORD(blob, BLOB_CODE) = (uint64_t)code;
	HALF(blob, BLOB_FRAME_SIZE) = frame_words;
	HALF(blob, BLOB_COMPLETE) = complete;
	HALF(blob, BLOB_BYTES) = 512;
	WORD(blob, NMETHOD_METHOD) = (uint64_t)method;
	HALF(blob, NMETHOD_COMPILE_ID) = at + 1;
	WORD(blob, 8 - BLOCK_BYTES) = 1;
	return code;
}

static void make_segments(void)
{
	for (uint32_t i = 0; i < SEGMENTS; i++)
		segments[i] = i == 0 || i == SPIN_AT >> SEGMENT_LOG2 ? 0 : 1;
}

static void make_heap(void)
{
	heap = mmap(NULL, HEAP_BYTES + WAITING_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (heap == MAP_FAILED)
		exit(1);
	make_segments();
	code_heap[0] = (uint64_t)heap;
	code_heap[1] = (uint64_t)heap + HEAP_BYTES;
	code_heap[2] = (uint64_t)segments;
	code_heap[4] = SEGMENT_LOG2;
	pointers[0] = (uint64_t)code_heap;
	list[0] = 1;
	list[1] = (uint64_t)pointers;
	put_symbol(class_symbol, "fake/Main");
	put_symbol(method_symbol, "spin");
	WORD(method, METHOD_CONST) = (uint64_t)constant;
	WORD(constant, CONST_POOL) = (uint64_t)pool;
	SHORT(constant, CONST_NAME) = 1;
	WORD(pool, POOL_HOLDER) = (uint64_t)klass;
	WORD(pool, POOL_BYTES + 8) = (uint64_t)method_symbol;
	WORD(klass, KLASS_NAME) = (uint64_t)class_symbol;
}

/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const uint8_t call_stub[] = { 0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3 };
/* sub $0x18,%rsp; mov %rbp,0x10(%rsp); dec %rsi; jz 1f; call 0b; 1: jmp 1b */
static const uint8_t spin[] = { 0x48, 0x81, 0xec, 0x18, 0, 0, 0, 0x48, 0x89, 0x6c, 0x24, 0x10, 0x48,
	0xff, 0xce, 0x74, 5, 0xe8, 0xea, 0xff, 0xff, 0xff, 0xeb, 0xfe };
/* sub $0x8000,%rsp; lea 0(%rip),%rax; mov %rsp,%rdi; mov $4096,%ecx; rep stos; 1: jmp 1b */
static const uint8_t fill[] = { 0x48, 0x81, 0xec, 0, 0x80, 0, 0, 0x48, 0x8d, 0x05, 0, 0, 0, 0, 0x48,
	0x89, 0xe7, 0xb9, 0, 0x10, 0, 0, 0xf3, 0x48, 0xab, 0xeb, 0xfe };

static void *change(void *arg)
{
	uint8_t *blob = heap + SPIN_AT + BLOCK_BYTES;
	const char *kind = arg;
	uint64_t n = 1;

	for (;;) {
		n = n * 6364136223846793005ULL + 1442695040888963407ULL;
		if (strcmp(kind, "many") == 0) {
			WORD(methods[n >> 54], METHOD_CONST) = (uint64_t)constant;
			WORD(blob, NMETHOD_METHOD) = (uint64_t)methods[n >> 54];
			continue;
		}
		HALF(blob, BLOB_FRAME_SIZE) = n >> 60 ? (uint32_t)(n >> 60) : (uint32_t)n;
		HALF(blob, BLOB_COMPLETE) = (uint32_t)(n >> 20 & 31);
		WORD(blob, NMETHOD_METHOD) = n >> 50 & 1 ? (uint64_t)method + (n >> 40 & 255) : n;
		HALF(blob, NMETHOD_COMPILE_ID) = (uint32_t)(n >> 61);
		HALF(blob, NMETHOD_PCS) = (uint32_t)(n >> 41 & 4095);
		HALF(blob, NMETHOD_PCS_END) = (uint32_t)(n >> 40 & 0xfffff);
		WORD(blob, NMETHOD_SCOPES) = n >> 53 & 1 ? (uint64_t)blob + (n >> 30 & 255) : n;
		HALF(blob, NMETHOD_METADATA) = (uint32_t)(n >> 29 & 4095);
		HALF(constant, CONST_WORDS) = n >> 54 & 1 ? 16 : (uint32_t)n;
		WORD(blob, BLOB_NAME) = n >> 51 & 7 ? (uint64_t)"nmethod" : n >> 16;
		segments[n >> 33 & 15] = (uint8_t)(n >> 44);
		WORD(constant, CONST_POOL) = n >> 52 & 1 ? (uint64_t)pool : n;
	}
	return NULL;
}

/* Whoever touches the memory after the heap waits for ever. */
static void make_waiting(uint8_t *blob)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register memory = { .range = { (uint64_t)heap + HEAP_BYTES, WAITING_BYTES },
		.mode = UFFDIO_REGISTER_MODE_MISSING };
	int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC);

	if (fd < 0 || ioctl(fd, UFFDIO_API, &api) < 0 || ioctl(fd, UFFDIO_REGISTER, &memory) < 0)
		exit(77);
	HALF(blob, NMETHOD_PCS) = (uint32_t)(heap + HEAP_BYTES - blob);
	HALF(blob, NMETHOD_PCS_END) = HALF(blob, NMETHOD_PCS) + 1600;
	WORD(blob, NMETHOD_SCOPES) = (uint64_t)heap + HEAP_BYTES + 4096;
}

static void spoil(const char *kind)
{
	uint8_t *blob = heap + SPIN_AT + BLOCK_BYTES;
	pthread_t thread;

	if (strcmp(kind, "cycle") == 0)
		memset(segments, 1, sizeof(segments));
	if (strcmp(kind, "outside") == 0)
		memset(segments, 0xfe, sizeof(segments));
	if (strcmp(kind, "nowhere") == 0)
		WORD(blob, NMETHOD_METHOD) = WORD(blob, BLOB_CODE) = NOWHERE;
	if (strcmp(kind, "waits") == 0)
		make_waiting(blob);
	if (strcmp(kind, "changing") == 0 || strcmp(kind, "many") == 0)
		pthread_create(&thread, NULL, change, (void *)kind);
}

int main(int argc, char **argv)
{
	const char *kind = argc > 2 ? argv[2] : "whole";
	void (*call)(void *code, uint64_t depth);
	uint8_t *stub, *code;
	int endless = strcmp(kind, "endless") == 0;

	make_heap();
	stub = put_blob(0, "StubRoutines (1)", 0, 0);
	memcpy(stub, call_stub, sizeof(call_stub));
	call_return = (uint64_t)stub + 6;
	code = put_blob(SPIN_AT, "nmethod", endless ? 1 : 4, endless ? 0 : 12);
	memcpy(code, endless ? fill : spin, endless ? sizeof(fill) : sizeof(spin));
	spoil(kind);
	alarm(argc > 1 ? (unsigned int)atoi(argv[1]) : 10);
	memcpy(&call, &stub, sizeof(call));
	call(code, strcmp(kind, "deep") == 0 ? DEEP : 3);
	return 0;
}
