// Header fields: of "Name: value\r\n" ... names and values in turn.

const frame = require('./frame.js')

// In the order of src/fields.c.
const NAMES = [
  'X-RateLimit-Limit',
  'X-RateLimit-Remaining',
  'X-RateLimit-Reset',
  'Retry-After',
  'RateLimit',
  'RateLimit-Policy',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset'
]

function fieldsOf(text) {
  const fields = []
  for (let at = 0; at < text.length; ) {
    const colon = text.indexOf(': ', at)
    const end = text.indexOf('\r\n', colon)
    fields.push(text.slice(at, colon), text.slice(colon + 2, end))
    at = end + 2
  }
  return fields
}

/**
 * The same for the text that has just come with a decision: the frame says where its parts lie. A name that is a
 * constant costs node a third of one that was cut out of a text.
 */
function fieldsTold(text) {
  const count = frame.fieldCount()
  if (count < 0) return fieldsOf(text)
  const fields = []
  for (let i = 0; i < count; i++) {
    const value = frame.fieldValue(i)
    fields.push(NAMES[frame.fieldName(i)], text.slice(value, value + frame.fieldSize(i)))
  }
  return fields
}

module.exports = { fieldsOf, fieldsTold }
