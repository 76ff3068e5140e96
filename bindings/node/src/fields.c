/* Where names and values lie in the text of header fields, so that JavaScript need not look for them, and names that are known need not
 * become strings anew. */
#include <string.h>

#include "frame.h"

/* In the order of lib/fields.js. */
static const struct {
  uint32_t size;
  const char *text;
} names[] = {
    {17, "X-RateLimit-Limit"}, {21, "X-RateLimit-Remaining"}, {17, "X-RateLimit-Reset"},
    {11, "Retry-After"},       {9, "RateLimit"},              {16, "RateLimit-Policy"},
    {15, "RateLimit-Limit"},   {19, "RateLimit-Remaining"},   {15, "RateLimit-Reset"},
};

enum { RN_NAMES = sizeof names / sizeof *names };

static uint32_t name_of(const char *text, size_t size) {
  uint32_t i = 0;
  while (i < RN_NAMES && (names[i].size != size || memcmp(names[i].text, text, size) != 0)) ++i;
  return i;
}

void rn_write_fields(rn_header *out, const char *text, uint64_t size) {
  const char *at = text;
  const char *const end = text + size;
  out->field_count = 0;
  while (at < end) {
    const char *colon = memchr(at, ':', (size_t)(end - at));
    const char *line_end = colon ? memchr(colon, '\r', (size_t)(end - colon)) : NULL;
    if (!line_end || line_end - colon < 2 || end - line_end < 2 || out->field_count == RN_FIELD_COUNT) {
      out->field_count = RN_FIELDS_UNKNOWN;
      return;
    }
    rn_field *field = &out->fields[out->field_count++];
    field->name = name_of(at, (size_t)(colon - at));
    field->value = (uint32_t)(colon + 2 - text);
    field->size = (uint32_t)(line_end - colon - 2);
    if (field->name == RN_NAMES) {
      out->field_count = RN_FIELDS_UNKNOWN;
      return;
    }
    at = line_end + 2;
  }
}
