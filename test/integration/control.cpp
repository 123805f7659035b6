// Reading the launcher's environment and talking to its control socket.
#include "integration/control.hpp"

#include <gtest/gtest.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/write.hpp>
#include <cstdlib>
#include <stdexcept>
#include <string_view>

#include "kube/config.hpp"

namespace cotrain::test {

std::string test_variable(const char* name) {
    const char* value = std::getenv(name);
    if (value == nullptr || *value == '\0')
        throw std::runtime_error(std::string(name) + " is not set: run these tests through './dev test'");
    return value;
}

bool server_before(int minor) {
    const char* const version = std::getenv("COTRAIN_TEST_KUBERNETES");
    return version != nullptr && std::atoi(version + std::string_view("1.").size()) < minor;
}

kube::cluster_config real_cluster() {
    auto config = kube::load_kubeconfig(test_variable("COTRAIN_TEST_KUBECONFIG"));
    if (!config) throw std::runtime_error(config.error().message);
    return std::move(*config);
}

awaitable<std::string> control(std::string command) {
    asio::local::stream_protocol::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(asio::local::stream_protocol::endpoint(test_variable("COTRAIN_TEST_CONTROL")),
                                  asio::use_awaitable);
    command += '\n';
    co_await asio::async_write(socket, asio::buffer(command), asio::use_awaitable);
    std::string answer;
    co_await asio::async_read_until(socket, asio::dynamic_buffer(answer, 65536), '\n', asio::use_awaitable);
    if (!answer.starts_with("ok")) ADD_FAILURE() << "control plane: " << command << answer;
    co_return answer;
}

}  // namespace cotrain::test
