// Values and names in the texts of errors.

/** A value as an error shows it. */
function shown(value) {
  if (typeof value === 'string') return JSON.stringify(value.length > 40 ? `${value.slice(0, 40)}...` : value)
  if (typeof value === 'bigint') return `${value}n`
  if (typeof value === 'function') return 'a function'
  if (typeof value !== 'object' || value === null) return String(value)
  return Array.isArray(value) ? 'a list' : 'an object'
}

/** How many letters have to change to make one of the other. */
function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1))
    }
    row = next
  }
  return row[b.length]
}

const plain = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, '')

/** The one that was probably meant, if there is one. */
function nearest(name, names) {
  const written = plain(name.slice(0, 40))
  const far = Math.min(2, Math.floor(written.length / 2))
  const near = names
    .map((one) => ({ one, letters: distance(written, plain(one)) }))
    .sort((a, b) => a.letters - b.letters)
  return near[0]?.letters <= far ? near[0].one : undefined
}

/** `what` has no such name: what there is. */
function noName(what, name, names) {
  const meant = nearest(name, names)
  const hint = meant === undefined ? '' : `, did you mean ${meant}?`
  return `${what} ${name.slice(0, 40)}${hint}${hint === '' ? ';' : ''} there are ${names.join(', ')}`
}

module.exports = { shown, noName }
