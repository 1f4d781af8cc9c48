/* SPDX-License-Identifier: GPL-2.0-only */
/* The parts of the agent on a machine: machine.c, frames.c, set_up.c. */
#ifndef MACHINE_H
#define MACHINE_H

#include "agent.h"

#define FOLDER "/run/powercut"
#define ROOT FOLDER "/root"
#define PREFIX "powercut-"
#define SILENCE_S 60
#define END_S 60 /* for the inner process to die, and then for each device to be given back */
#define RUN_BYTES (1 << 20)
#define DEVICES 4

/* frames.c */
enum kind { CONFIG = 1, LINE_TEXT, WRITE, ZERO, READ, BEAT, STOP, DATA, END, CONSOLE, REFUSED, TROUBLE, GONE, LEFT };

struct frame {
	uint32_t magic;
	uint16_t kind, device;
	uint64_t offset, length;
};

extern bool connected;
void connection_start(void);
void send_frame(enum kind kind, int device, uint64_t offset, const void *bytes, size_t length);
void send_text(enum kind kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
bool receive_all(void *bytes, size_t length);
bool receive_frame(struct frame *frame);
void refuse_all(enum kind kind, const char *format, ...) __attribute__((noreturn, format(printf, 2, 3)));

/* set_up.c */
struct machine_device {
	int file; /* of tmpfs, or the device itself */
	bool memory;
	uint64_t bytes;
};

extern const char *const machine_device_names[DEVICES];
extern struct machine_device machine_devices[DEVICES];
void load_modules(void);
void need_targets(void);
void make_root(void);
void set_up(char *config);
void enter_root(void);
const char *remove_devices(void);

#endif
