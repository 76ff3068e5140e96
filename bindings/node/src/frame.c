#include "frame.h"

#include <math.h>
#include <string.h>

bool rn_cursor_begin(const rn_frame *frame, rn_cursor *out) {
  if (!frame->data) return false;
  const rn_header *header = rn_header_of(frame);
  const uint64_t records_end = RN_RECORDS + (uint64_t)header->count * sizeof(rn_record);
  if (header->bytes_offset < records_end || header->bytes_offset > header->bytes_end || header->bytes_offset % 8 != 0) {
    return false;
  }
  if (header->bytes_end > frame->size) return false;
  *out = (rn_cursor){.base = frame->data, .at = header->bytes_offset, .end = header->bytes_end};
  return true;
}

static bool take(rn_cursor *cursor, uint32_t size, rl_str *out) {
  if (size > cursor->end - cursor->at) return false;
  *out = (rl_str){(const char *)cursor->base + cursor->at, size};
  cursor->at += size;
  return true;
}

bool rn_read_list(rn_cursor *cursor, uint32_t count, rl_str *out) {
  if (count == 0) return true;
  const uint64_t at = (cursor->at + 3) & ~UINT64_C(3);
  if (at > cursor->end || (uint64_t)count * 4 > cursor->end - at) return false;
  const uint8_t *sizes = cursor->base + at;
  cursor->at = at + (uint64_t)count * 4;
  for (uint32_t i = 0; i < count; ++i) {
    uint32_t size;
    memcpy(&size, sizes + (size_t)i * 4, 4);
    if (!take(cursor, size, &out[i])) return false;
  }
  return true;
}

uint64_t rn_nanoseconds(double microseconds) {
  if (!(microseconds >= 0) || microseconds > 9007199254740991.0) return UINT64_MAX;
  return (uint64_t)microseconds * 1000;
}

uint64_t rn_instant(double microseconds) {
  return microseconds > 0 && microseconds < 1 ? 1 : rn_nanoseconds(microseconds);
}

int64_t rn_units(double number) {
  return number >= -9007199254740991.0 && number <= 9007199254740991.0 ? (int64_t)number : 0;
}

static int64_t cost_of(const rn_record *record) {
  int64_t cost;
  if (record->cost_is != RN_WHOLE) return isnan(record->cost) ? RL_COST_OF_RULE : rn_units(record->cost);
  memcpy(&cost, &record->cost, sizeof cost);
  return cost;
}

static rl_str next(const char **at, uint32_t size) {
  const rl_str out = {*at, size};
  *at += size;
  return out;
}

/* Each field by itself: what sets a whole struct to zero first takes longer than all of this. */
bool rn_read_request(rn_cursor *cursor, const rn_record *record, rl_attribute *attributes, rl_request *out) {
  const uint32_t *sizes = record->sizes;
  const uint64_t size =
      (uint64_t)sizes[0] + (uint64_t)sizes[1] + (uint64_t)sizes[2] + (uint64_t)sizes[3] +
      (uint64_t)sizes[4] + (uint64_t)sizes[5] + (uint64_t)sizes[6];
  if (size > cursor->end - cursor->at) return false;
  const char *at = (const char *)cursor->base + cursor->at;
  cursor->at += size;
  const rl_str method = next(&at, sizes[0]);
  const rl_str path = next(&at, sizes[1]);
  if (!(record->same & RN_SAME_METHOD)) cursor->method = method;
  if (!(record->same & RN_SAME_PATH)) cursor->path = path;
  out->struct_size = sizeof *out;
  out->flags = 0;
  out->now_ns = rn_instant(record->now_us);
  out->cost = cost_of(record);
  out->rule = record->rule;
  out->attribute_count = record->attribute_count;
  out->attributes = record->attribute_count > 0 ? attributes : NULL;
  out->method = cursor->method;
  out->path = cursor->path;
  out->user = next(&at, sizes[2]);
  out->api_key = next(&at, sizes[3]);
  out->ip = next(&at, sizes[4]);
  out->key = next(&at, sizes[5]);
  out->idempotency_id = next(&at, sizes[6]);
  return rn_read_list(cursor, record->attribute_count * 2, (rl_str *)attributes);
}

static double microseconds(uint64_t ns) { return ns == RL_NEVER ? INFINITY : (double)(ns / 1000); }

void rn_write_answer(rn_answer *out, const rl_decision *decision) {
  out->bits = decision->allowed | (uint32_t)decision->source << 8 | (uint32_t)decision->reason << 16 |
              (uint32_t)decision->flags << 24;
  out->rule = decision->rule;
  out->limit_id = decision->limit_id;
  out->limit_count = decision->limit_count;
  out->generation = (double)decision->generation;
  out->cost = (double)decision->cost;
  if (decision->cost > INT64_C(9007199254740991)) {
    out->bits |= RN_WHOLE;
    memcpy(&out->cost, &decision->cost, sizeof out->cost);
  }
  out->limit = (double)decision->limit;
  out->capacity = (double)decision->capacity;
  out->remaining = (double)decision->remaining;
  out->now_us = microseconds(decision->now_ns);
  out->window_us = microseconds(decision->window_ns);
  out->retry_after_us = microseconds(decision->retry_after_ns);
  out->reset_after_us = microseconds(decision->reset_after_ns);
  out->delay_us = microseconds(decision->delay_ns);
}

/* What is no whole number here was made by nobody's call: the engine refuses the largest number. */
static uint64_t whole(double number) {
  return number >= 0 && number < 18446744073709551616.0 ? (uint64_t)number : UINT64_MAX;
}

static uint64_t back(double us) { return us == INFINITY ? RL_NEVER : rn_nanoseconds(us); }

void rn_read_answer(const rn_answer *answer, rl_decision *out) {
  *out = (rl_decision)RL_DECISION_INIT;
  out->allowed = answer->bits & 1;
  out->source = (uint8_t)(answer->bits >> 8);
  out->reason = (uint8_t)(answer->bits >> 16);
  out->flags = (uint8_t)(answer->bits >> 24);
  out->rule = answer->rule;
  out->limit_id = answer->limit_id;
  out->limit_count = answer->limit_count;
  out->generation = whole(answer->generation);
  out->now_ns = back(answer->now_us);
  out->cost = answer->cost >= 0 && answer->cost <= 9007199254740991.0 ? (int64_t)answer->cost : -1;
  if (answer->bits & RN_WHOLE) memcpy(&out->cost, &answer->cost, sizeof out->cost);
  out->limit = whole(answer->limit);
  out->window_ns = back(answer->window_us);
  out->capacity = whole(answer->capacity);
  out->remaining = whole(answer->remaining);
  out->retry_after_ns = back(answer->retry_after_us);
  out->reset_after_ns = back(answer->reset_after_us);
  out->delay_ns = back(answer->delay_us);
}
