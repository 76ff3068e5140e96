/* The frame: one ArrayBuffer per environment, through which requests come in and decisions go out as plain numbers.
 * lib/frame.js has the same layout.
 *
 *   0    header: what the call is about, in and out
 *   512  records, 160 bytes apart: a request, and behind it its decision
 *   then the bytes of the requests, one after the other: method, path (neither that is the same as in the record before), user, api_key, ip,
 * key, idempotency_id; then, aligned to 4, two
 * sizes for each attribute and the attributes' bytes; for allow_http likewise the peer's, X-Forwarded-For's and
 * Forwarded's lines.
 *
 * All numbers are in the machine's byte order. Times are whole microseconds, the engine's step, so that doubles hold
 * them exactly. */
#ifndef RATEL_NODE_FRAME_H
#define RATEL_NODE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ratel/rl.h>

/* A cost that a double cannot hold: the eight bytes are an int64_t. */
enum { RN_WHOLE = 2 };
enum { RN_SAME_METHOD = 1, RN_SAME_PATH = 2 };

typedef struct rn_answer {
  uint32_t bits; /* allowed, RN_WHOLE, source << 8, reason << 16, flags << 24 */
  uint32_t rule;
  uint32_t limit_id;
  uint32_t limit_count;
  double generation;
  double cost;
  double limit;
  double capacity;
  double remaining;
  double now_us;
  double window_us;
  double retry_after_us; /* infinity: never */
  double reset_after_us;
  double delay_us;
} rn_answer;

/* Of a text of header fields: which name (src/fields.c), and where the value lies. */
typedef struct rn_field {
  uint32_t name;
  uint32_t value;
  uint32_t size;
} rn_field;

enum { RN_FIELD_COUNT = 9, RN_FIELDS_UNKNOWN = -1 };

typedef struct rn_header {
  uint32_t limiter;      /* in */
  uint32_t count;        /* in: records */
  uint32_t bytes_offset; /* in */
  uint32_t bytes_end;    /* in */
  uint32_t flags;        /* in: of headers, texts */
  int32_t status;        /* out: rl_status */
  uint32_t ticket;       /* in: of what ends later */
  uint32_t x_forwarded_for_count;
  uint32_t forwarded_count;
  uint32_t reserved;
  double number;       /* in: actual units, a cutoff in microseconds; out: a count */
  rn_answer earlier;   /* in: the decision that a settle or a text is about */
  double counters[32]; /* out: metrics, in the order of rl.h */
  int32_t field_count; /* out of allow_http; RN_FIELDS_UNKNOWN: the text has others */
  rn_field fields[RN_FIELD_COUNT];
} rn_header;

typedef struct rn_record {
  double now_us; /* 0: the clock */
  double cost;   /* NaN: the rule's; with cost_is RN_WHOLE an int64_t */
  uint32_t rule;
  uint32_t attribute_count;
  uint32_t sizes[7];
  int32_t status; /* out */
  uint32_t cost_is;
  uint32_t same;    /* RN_SAME_METHOD, RN_SAME_PATH: as the record before, and not among the bytes again */
  rn_answer answer; /* out */
} rn_record;

enum { RN_RECORDS = 512 };

_Static_assert(sizeof(rn_answer) == 96, "lib/frame.js");
_Static_assert(offsetof(rn_header, number) == 40 && offsetof(rn_header, earlier) == 48, "lib/frame.js");
_Static_assert(offsetof(rn_header, counters) == 144 && sizeof(rn_header) <= RN_RECORDS, "lib/frame.js");
_Static_assert(offsetof(rn_header, field_count) == 400 && sizeof(rn_header) == RN_RECORDS, "lib/frame.js");
_Static_assert(sizeof(rn_record) == 160 && offsetof(rn_record, answer) == 64, "lib/frame.js");

typedef struct rn_frame {
  uint8_t *data;
  uint64_t size;
} rn_frame;

static inline rn_header *rn_header_of(const rn_frame *frame) { return (rn_header *)frame->data; }
static inline rn_record *rn_record_of(const rn_frame *frame, uint32_t i) {
  return (rn_record *)(frame->data + RN_RECORDS) + i;
}

/** A place in the frame's bytes. Reads past the end fail. */
typedef struct rn_cursor {
  const uint8_t *base;
  uint64_t at;
  uint64_t end;
  rl_str method; /* of the request that was read last */
  rl_str path;
} rn_cursor;

/** The cursor of the frame's requests, when its header tells no nonsense. */
bool rn_cursor_begin(const rn_frame *frame, rn_cursor *out);

/** `count` strings whose sizes stand at the cursor. False when they do not fit. */
bool rn_read_list(rn_cursor *cursor, uint32_t count, rl_str *out);

/** A request that borrows from the frame. `attributes` has room for record->attribute_count. */
bool rn_read_request(rn_cursor *cursor, const rn_record *record, rl_attribute *attributes, rl_request *out);

uint64_t rn_nanoseconds(double microseconds);
/** Units that lib/frame.js has seen to be a whole number. */
int64_t rn_units(double number);
/** For arguments of the engine, which takes 0 for "read the clock": what lies between 0 and 1 is the first instant
 * there is. */
uint64_t rn_instant(double microseconds);
/** Says where the parts of a text of header fields lie. */
void rn_write_fields(rn_header *out, const char *text, uint64_t size);
void rn_write_answer(rn_answer *out, const rl_decision *decision);
void rn_read_answer(const rn_answer *answer, rl_decision *out);

#endif
