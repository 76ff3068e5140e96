#include "storage/redis/tls.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <new>
#include <utility>

#if RATEL_REDIS_TLS
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#endif

namespace ratel::redis {

#if !RATEL_REDIS_TLS

Result<std::shared_ptr<const TlsContext>> TlsContext::Make(const Options&) {
  Error error;
  error.status = Status::kUnsupported;
  error.message = "this build has no TLS";
  return error;
}

#else

namespace {

template <auto Free>
struct Freed {
  template <class T>
  void operator()(T* object) const noexcept {
    Free(object);
  }
};
using ContextPtr = std::unique_ptr<SSL_CTX, Freed<SSL_CTX_free>>;
using SessionPtr = std::unique_ptr<SSL, Freed<SSL_free>>;
using BioPtr = std::unique_ptr<BIO, Freed<BIO_free>>;

/// OpenSSL itself would free at exit what all contexts share, under the threads of registries that are not destroyed: they go on until the process has ended.
/// So that is done here, and only when there is no context any more, as when the library is unloaded.
class Library {
 public:
  Library() noexcept { OPENSSL_init_ssl(OPENSSL_INIT_NO_ATEXIT, nullptr); }
  ~Library() {
    if (contexts == 0) OPENSSL_cleanup();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::atomic<uint32_t> contexts{0};
};

/// Made before anything else is asked of OpenSSL.
Library& TheLibrary() {
  static Library library;
  return library;
}

/// The reason of the oldest error in this thread's queue, which is emptied.
std::string Reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* reason = code == 0 ? nullptr : ERR_reason_error_string(code);
  return reason == nullptr ? "unknown TLS error" : reason;
}

class Session final : public TlsSession {
 public:
  Session(SSL_CTX* context, const std::string& server_name) : ssl_(SSL_new(context)) {
    BioPtr in(BIO_new(BIO_s_mem()));
    BioPtr out(BIO_new(BIO_s_mem()));
    if (ssl_ == nullptr || in == nullptr || out == nullptr) throw std::bad_alloc();
    BIO_set_mem_eof_return(in.get(), -1);
    in_ = in.get();
    out_ = out.get();
    SSL_set_bio(ssl_.get(), in.release(), out.release());
    SSL_set_connect_state(ssl_.get());
    if (!server_name.empty()) {
      X509_VERIFY_PARAM* wanted = SSL_get0_param(ssl_.get());
      if (X509_VERIFY_PARAM_set1_ip_asc(wanted, server_name.c_str()) != 1) {
        if (SSL_set_tlsext_host_name(ssl_.get(), server_name.c_str()) != 1 ||
            SSL_set1_host(ssl_.get(), server_name.c_str()) != 1)
          throw std::bad_alloc();
      }
    }
    ERR_clear_error();
  }

  Step Receive(std::string_view cipher, std::string& plain, std::string& out) override {
    if (!cipher.empty() && BIO_write(in_, cipher.data(), static_cast<int>(cipher.size())) <= 0)
      return Fail("out of memory");
    if (const Step step = Advance(out); step != Step::kOk || !ready()) return step;
    for (;;) {
      char buffer[16384];
      const int got = SSL_read(ssl_.get(), buffer, sizeof buffer);
      if (got > 0) {
        plain.append(buffer, static_cast<size_t>(got));
        continue;
      }
      const int why = SSL_get_error(ssl_.get(), got);
      TakeOut(out);
      if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return Step::kOk;
      if (why == SSL_ERROR_ZERO_RETURN) return Step::kClosed;
      return Fail(Reason());
    }
  }

  Step Send(std::string_view plain, std::string& out) override {
    kept_.append(plain);
    return Advance(out);
  }

  bool ready() const override { return SSL_is_init_finished(ssl_.get()) == 1; }
  const std::string& fault() const override { return fault_; }

 private:
  Step Advance(std::string& out) {
    if (!ready()) {
      const int done = SSL_do_handshake(ssl_.get());
      TakeOut(out);
      if (done != 1) {
        const int why = SSL_get_error(ssl_.get(), done);
        if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) return Step::kOk;
        const long verdict = SSL_get_verify_result(ssl_.get());
        if (verdict == X509_V_OK) return Fail(Reason());
        ERR_clear_error();
        return Fail(std::string("the server's certificate is not trusted: ") + X509_verify_cert_error_string(verdict));
      }
    }
    size_t said = 0;
    while (said < kept_.size()) {
      const int count = static_cast<int>(std::min<size_t>(kept_.size() - said, 1 << 20));
      const int wrote = SSL_write(ssl_.get(), kept_.data() + said, count);
      if (wrote <= 0) return Fail(Reason());
      said += static_cast<size_t>(wrote);
    }
    kept_.clear();
    TakeOut(out);
    return Step::kOk;
  }

  void TakeOut(std::string& out) {
    char* data = nullptr;
    const long size = BIO_get_mem_data(out_, &data);
    if (size > 0) out.append(data, static_cast<size_t>(size));
    static_cast<void>(BIO_reset(out_));
  }

  Step Fail(std::string why) {
    fault_ = std::move(why);
    return Step::kFailed;
  }

  SessionPtr ssl_;
  BIO* in_ = nullptr;   ///< the session's
  BIO* out_ = nullptr;  ///< likewise
  std::string kept_;    ///< to be said once the handshake is done
  std::string fault_;
};

class Context final : public TlsContext {
 public:
  Context(ContextPtr context, std::string server_name)
      : context_(std::move(context)), server_name_(std::move(server_name)) {
    ++TheLibrary().contexts;
  }
  ~Context() override { --TheLibrary().contexts; }
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;
  std::unique_ptr<TlsSession> NewSession(const std::string& host) const override {
    return std::make_unique<Session>(context_.get(), server_name_.empty() ? host : server_name_);
  }

 private:
  const ContextPtr context_;
  const std::string server_name_;  ///< empty = each server's host
};

Error Unusable(const char* what, const std::string& file) {
  Error error;
  error.status = Status::kConfig;
  error.message = std::string("redis url: ") + what + " " + file + ": " + Reason();
  return error;
}

}  // namespace

Result<std::shared_ptr<const TlsContext>> TlsContext::Make(const Options& options) {
  static_cast<void>(TheLibrary());
  ERR_clear_error();
  ContextPtr context(SSL_CTX_new(TLS_client_method()));
  if (context == nullptr) throw std::bad_alloc();
  SSL_CTX* raw = context.get();
  SSL_CTX_set_min_proto_version(raw, TLS1_2_VERSION);
  SSL_CTX_set_verify(raw, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(raw, SSL_MODE_RELEASE_BUFFERS);
  if (options.ca.empty()) {
    SSL_CTX_set_default_verify_paths(raw);
  } else if (SSL_CTX_load_verify_locations(raw, options.ca.c_str(), nullptr) != 1) {
    return Unusable("ca", options.ca);
  }
  if (!options.certificate.empty()) {
    if (SSL_CTX_use_certificate_chain_file(raw, options.certificate.c_str()) != 1)
      return Unusable("cert", options.certificate);
    if (SSL_CTX_use_PrivateKey_file(raw, options.key.c_str(), SSL_FILETYPE_PEM) != 1 ||
        SSL_CTX_check_private_key(raw) != 1)
      return Unusable("key", options.key);
  }
  ERR_clear_error();
  return std::shared_ptr<const TlsContext>(std::make_shared<Context>(std::move(context), options.server_name));
}

#endif

}  // namespace ratel::redis
