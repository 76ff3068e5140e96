// An authority with a server's and a client's certificate, made by openssl in a folder of the test's.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <string>
#include <utility>

namespace ratel::test {

/// A certificate authority, a server's certificate for 127.0.0.1 and localhost, and a client's.
class Certificates {
 public:
  explicit Certificates(const std::string& folder) : folder_(folder) {
    Run("req -x509 -newkey rsa:2048 -nodes -keyout ca.key -out ca.pem -days 2 -subj /CN=ratel-test-ca");
    Issue("server", "subjectAltName=IP:127.0.0.1,DNS:localhost");
    Issue("client", "basicConstraints=CA:FALSE");
    Run("req -x509 -newkey rsa:2048 -nodes -keyout other.key -out other.pem -days 2 -subj /CN=somebody-else");
  }
  std::string File(const std::string& name) const { return folder_ + "/" + name; }

 private:
  void Issue(const std::string& name, const std::string& extension) {
    Run("req -newkey rsa:2048 -nodes -keyout " + name + ".key -out " + name + ".csr -subj /CN=" + name);
    std::ofstream(File(name + ".ext")) << extension << "\n";
    Run("x509 -req -in " + name + ".csr -CA ca.pem -CAkey ca.key -CAcreateserial -days 2 -out " + name +
        ".pem -extfile " + name + ".ext");
  }
  void Run(const std::string& arguments) {
    const std::string line = "cd " + folder_ + " && openssl " + arguments + " >openssl.log 2>&1";
    EXPECT_EQ(std::system(line.c_str()), 0) << line;
  }
  const std::string folder_;
};

}  // namespace ratel::test
