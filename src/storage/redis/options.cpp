#include "storage/redis/options.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

namespace ratel::redis {
namespace {

constexpr uint64_t kLongestDeadlineMs = 60'000;
constexpr uint64_t kLongestMarginMs = 86'400'000;
constexpr uint64_t kLongestIdempotencyMs = 86'400'000;
constexpr uint64_t kMostConnections = 64;
constexpr uint64_t kMostOfABatch = 64;
constexpr size_t kLongestPrefix = 32;
constexpr size_t kMostPlaces = 64;
/// A caller's clock may differ from the one that wrote a key: it has to be there for the slower one, too.
constexpr uint64_t kCallerTimeMarginMs = 10'000;

Error Fault(std::string message, Status status = Status::kConfig) {
  Error error;
  error.status = status;
  error.message = "redis url: " + std::move(message);
  return error;
}

int HexDigit(char c) noexcept {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> Decode(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      out.push_back(text[i]);
      continue;
    }
    const int high = i + 1 < text.size() ? HexDigit(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? HexDigit(text[i + 2]) : -1;
    if (high < 0 || low < 0 || (high == 0 && low == 0)) return std::nullopt;
    out.push_back(static_cast<char>(high * 16 + low));
    i += 2;
  }
  return out;
}

std::optional<uint64_t> Number(std::string_view text, uint64_t most) {
  uint64_t value = 0;
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (fault != std::errc() || end != text.data() + text.size() || value > most) return std::nullopt;
  return value;
}

/// Cuts `text` at the first `mark`; what follows it is returned, nothing when there is none.
std::optional<std::string_view> CutAt(std::string_view& text, char mark) {
  const size_t at = text.find(mark);
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view rest = text.substr(at + 1);
  text = text.substr(0, at);
  return rest;
}

bool IsPrefix(std::string_view text) noexcept {
  if (text.empty() || text.size() > kLongestPrefix) return false;
  for (const char c : text) {
    if (c <= ' ' || c > '~' || c == '{' || c == '}') return false;
  }
  return true;
}

/// One option; a message when it is refused.
std::optional<std::string> Take(Options& options, std::string_view name, const std::string& value, bool& margin_given) {
  const std::string told = std::string(name) + "=" + value;
  const auto number = [&](uint64_t least, uint64_t most) -> std::optional<uint64_t> {
    const auto read = Number(value, most);
    return read && *read >= least ? read : std::nullopt;
  };
  const auto outside = [&](uint64_t least, uint64_t most) {
    return told + ": a whole number from " + std::to_string(least) + " to " + std::to_string(most) + " is asked for";
  };
  if (name == "deadline_ms") {
    const auto read = number(1, kLongestDeadlineMs);
    if (!read) return outside(1, kLongestDeadlineMs);
    options.deadline = std::chrono::milliseconds(*read);
  } else if (name == "time") {
    if (value != "server" && value != "caller") return told + ": server or caller";
    options.server_time = value == "server";
  } else if (name == "prefix") {
    if (!IsPrefix(value)) return told + ": 1 to 32 printable ASCII characters without spaces and braces";
    options.prefix = value;
  } else if (name == "connections") {
    const auto read = number(1, kMostConnections);
    if (!read) return outside(1, kMostConnections);
    options.connections = static_cast<uint32_t>(*read);
  } else if (name == "batch") {
    const auto read = number(1, kMostOfABatch);
    if (!read) return outside(1, kMostOfABatch);
    options.batch = static_cast<uint32_t>(*read);
  } else if (name == "ttl_margin_ms") {
    const auto read = number(0, kLongestMarginMs);
    if (!read) return outside(0, kLongestMarginMs);
    options.ttl_margin_ms = *read;
    margin_given = true;
  } else if (name == "idempotency_ms") {
    const auto read = number(1, kLongestIdempotencyMs);
    if (!read) return outside(1, kLongestIdempotencyMs);
    options.idempotency_ms = *read;
  } else if (name == "db") {
    const auto read = number(0, INT32_MAX);
    if (!read) return outside(0, INT32_MAX);
    if (options.deployment == Deployment::kCluster && *read != 0) return told + ": a cluster has database 0 alone";
    options.database = static_cast<uint32_t>(*read);
  } else if (name == "slot") {
    if (options.deployment != Deployment::kCluster) return std::string(name) + ": only redis+cluster:// takes it";
    if (value != "scope" && value != "rule") return told + ": scope or rule";
    options.slot_by_rule = value == "rule";
  } else if (name == "sentinel_user" || name == "sentinel_password") {
    if (options.deployment != Deployment::kSentinel) return std::string(name) + ": only redis+sentinel:// takes it";
    if (value.empty()) return std::string(name) + " is empty";
    (name == "sentinel_user" ? options.sentinel_user : options.sentinel_password) = value;
  } else if (name == "ca" || name == "cert" || name == "key" || name == "server_name") {
    if (!options.tls) return std::string(name) + ": only rediss:// takes it";
    if (value.empty()) return std::string(name) + " is empty";
    (name == "ca"     ? options.ca
     : name == "cert" ? options.certificate
     : name == "key"  ? options.key
                      : options.server_name) = value;
  } else {
    return "unknown option \"" + std::string(name) +
           "\"; there are deadline_ms, time, prefix, connections, batch, ttl_margin_ms, idempotency_ms, db, for "
           "rediss:// ca, "
           "cert, key, "
           "server_name, for redis+cluster:// slot, for redis+sentinel:// sentinel_user, sentinel_password";
  }
  return std::nullopt;
}

std::optional<Error> TakeOptions(Options& options, std::string_view query) {
  bool margin_given = false;
  std::string seen = "&";
  while (!query.empty()) {
    std::string_view part = query;
    query = CutAt(part, '&').value_or(std::string_view());
    if (part.empty()) continue;
    const auto value = CutAt(part, '=');
    if (!value) return Fault("option \"" + std::string(part) + "\" has no value");
    const auto decoded = Decode(*value);
    if (!decoded) return Fault("option \"" + std::string(part) + "\": % has to be followed by two hex digits");
    const std::string mark = "&" + std::string(part) + "&";
    if (seen.find(mark) != std::string::npos) return Fault("option \"" + std::string(part) + "\" is given twice");
    seen += std::string(part) + "&";
    if (auto refused = Take(options, part, *decoded, margin_given)) return Fault(std::move(*refused));
  }
  if (!margin_given && !options.server_time) options.ttl_margin_ms = kCallerTimeMarginMs;
  if (options.certificate.empty() != options.key.empty()) return Fault("cert and key go together");
  if (!options.sentinel_user.empty() && options.sentinel_password.empty())
    return Fault("a sentinel_user without a sentinel_password");
  return std::nullopt;
}

/// user:password@, which may hold anything but must not be shown.
std::optional<Error> TakeCredentials(Options& options, std::string_view& authority) {
  const size_t at = authority.rfind('@');
  if (at == std::string_view::npos) return std::nullopt;
  std::string_view user = authority.substr(0, at);
  authority = authority.substr(at + 1);
  const std::string_view password = CutAt(user, ':').value_or(std::string_view());
  const auto decoded_user = Decode(user);
  const auto decoded_password = Decode(password);
  if (!decoded_user || !decoded_password) return Fault("user or password: % has to be followed by two hex digits");
  if (decoded_password->empty()) return Fault("a user without a password; write user:password@ or :password@");
  options.user = *decoded_user;
  options.password = *decoded_password;
  return std::nullopt;
}

/// One host with its port.
std::optional<Error> TakeHost(Options& options, std::string_view authority, uint16_t usual_port) {
  std::string_view host = authority;
  std::string_view port;
  if (authority.starts_with('[')) {
    const size_t end = authority.find(']');
    if (end == std::string_view::npos) return Fault("the host's ] is missing");
    host = authority.substr(1, end - 1);
    port = authority.substr(end + 1);
    if (!port.empty() && !port.starts_with(':')) return Fault("after the host's ] only a port may follow");
    if (!port.empty()) port.remove_prefix(1);
  } else if (const auto after = CutAt(host, ':')) {
    port = *after;
    if (port.find(':') != std::string_view::npos) return Fault("an IPv6 host goes in brackets: [::1]:6379");
  }
  if (host.empty()) return Fault("the host is missing: redis://host:6379");
  for (const char c : host) {
    if (c <= ' ' || c > '~') return Fault("the host has a character that is not printable");
  }
  Place place;
  place.host = host;
  place.port = usual_port;
  if (!port.empty()) {
    const auto number = Number(port, UINT16_MAX);
    if (!number || *number == 0) return Fault("the port is a number from 1 to 65535");
    place.port = static_cast<uint16_t>(*number);
  }
  options.places.push_back(std::move(place));
  return std::nullopt;
}

std::optional<Error> TakeHosts(Options& options, std::string_view authority) {
  const uint16_t usual_port = options.deployment == Deployment::kSentinel ? 26379 : 6379;
  if (options.deployment == Deployment::kServer && authority.find(',') != std::string_view::npos)
    return Fault("one host only; several are for redis+cluster:// and redis+sentinel://");
  for (;;) {
    std::string_view one = authority;
    const auto rest = CutAt(one, ',');
    if (auto fault = TakeHost(options, one, usual_port)) return fault;
    if (options.places.size() > kMostPlaces)
      return Fault("more than " + std::to_string(kMostPlaces) + " hosts; a few of them are enough");
    if (!rest) return std::nullopt;
    authority = *rest;
  }
}

/// What follows the host: a database's number, with sentinels after the master's name.
std::optional<Error> TakePath(Options& options, std::string_view path) {
  if (options.deployment == Deployment::kSentinel) {
    const auto database = CutAt(path, '/');
    const auto name = Decode(path);
    if (!name || name->empty())
      return Fault("the master's name follows the sentinels: redis+sentinel://host:26379/mymaster");
    options.master = *name;
    path = database.value_or(std::string_view());
  }
  if (path.empty()) return std::nullopt;
  const auto number = Number(path, INT32_MAX);
  if (!number) return Fault("what follows the host is the database's number: redis://host:6379/0");
  if (options.deployment == Deployment::kCluster && *number != 0) return Fault("a cluster has database 0 alone");
  options.database = static_cast<uint32_t>(*number);
  return std::nullopt;
}

std::optional<Error> TakeSocket(Options& options, std::string_view rest) {
  const size_t slash = rest.find('/');
  std::string_view authority = rest.substr(0, slash);
  if (auto fault = TakeCredentials(options, authority)) return fault;
  if (!authority.empty() || slash == std::string_view::npos)
    return Fault("a socket's path starts with a slash: unix:///run/redis.sock");
  const auto path = Decode(rest.substr(slash));
  if (!path || path->size() < 2 || path->size() > 107) return Fault("the socket's path has 1 to 107 bytes");
  Place place;
  place.path = *path;
  options.places.push_back(std::move(place));
  return std::nullopt;
}

std::optional<Error> TakeServers(Options& options, std::string_view rest) {
  // A password may hold slashes.
  const size_t at = rest.rfind('@');
  const size_t slash = rest.find('/', at == std::string_view::npos ? 0 : at);
  std::string_view authority = rest.substr(0, slash);
  if (auto fault = TakeCredentials(options, authority)) return fault;
  if (auto fault = TakeHosts(options, authority)) return fault;
  return TakePath(options, slash == std::string_view::npos ? std::string_view() : rest.substr(slash + 1));
}

/// The scheme; a message when there is none such.
std::optional<std::string> TakeScheme(Options& options, std::string_view scheme) {
  std::string_view base = scheme;
  const auto deployment = CutAt(base, '+');
  options.tls = base == "rediss";
  const bool known = base == "redis" || base == "rediss" || (base == "unix" && !deployment);
  if (deployment == "cluster") {
    options.deployment = Deployment::kCluster;
  } else if (deployment == "sentinel") {
    options.deployment = Deployment::kSentinel;
  }
  if (known && (!deployment || options.deployment != Deployment::kServer)) return std::nullopt;
  return "it starts with redis://, rediss:// or unix://, or with redis+cluster:// or redis+sentinel://";
}

}  // namespace

Result<Options> ParseUrl(std::string_view url) {
  const size_t scheme_end = std::min(url.find("://"), url.size());
  const std::string_view scheme = url.substr(0, scheme_end);
  Options options;
  if (auto refused = TakeScheme(options, scheme_end == url.size() ? std::string_view() : scheme))
    return Fault(std::move(*refused));
#if !RATEL_REDIS_TLS
  if (options.tls) return Fault("rediss:// needs RL_FEATURE_TLS, which this build lacks", Status::kUnsupported);
#endif
  std::string_view rest = url.substr(scheme_end + 3);
  const std::string_view query = CutAt(rest, '?').value_or(std::string_view());
  if (auto fault = scheme == "unix" ? TakeSocket(options, rest) : TakeServers(options, rest)) return *fault;
  if (auto fault = TakeOptions(options, query)) return *fault;
  return options;
}

std::string Shown(const Options& options) {
  if (options.deployment == Deployment::kServer) return Shown(options, options.places.front());
  const bool cluster = options.deployment == Deployment::kCluster;
  std::string text = std::string(options.tls ? "rediss" : "redis") + (cluster ? "+cluster://" : "+sentinel://");
  for (const Place& place : options.places) text += (&place == options.places.data() ? "" : ",") + Shown(place);
  if (!cluster) text += "/" + options.master;
  return text;
}

std::string Shown(const Options& options, const Place& place) {
  const std::string database = std::to_string(options.database);
  if (place.is_unix()) return "unix://" + place.path + "?db=" + database;
  return std::string(options.tls ? "rediss://" : "redis://") + Shown(place) + "/" + database;
}

}  // namespace ratel::redis
