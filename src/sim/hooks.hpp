// Carries reviews to webhooks: one HTTP/2 client for each of them, kept open.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "base/log.hpp"
#include "net/client.hpp"
#include "sim/admission.hpp"

namespace cotrain::sim {

inline constexpr std::size_t hook_clients_max = 64;
inline constexpr std::size_t hook_answer_bytes_max = 4UL * 1024 * 1024;

// Where a Service ends: "namespace/name" to an address.
using service_table = std::map<std::string, net::tcp::address, std::less<>>;

class hooks {
   public:
    hooks(asio::any_io_executor executor, service_table services, base::logger& log);
    ~hooks();

    // Webhooks have to speak HTTP/2.
    [[nodiscard]] awaitable<hook_answer> call(hook_call what);
    [[nodiscard]] awaitable<void> stop();
    void reach(std::string service, net::tcp::address at) { services_[std::move(service)] = std::move(at); }

   private:
    // The client, or why there is none.
    [[nodiscard]] base::result<net::client*> client_for(const hook_call& what);

    asio::any_io_executor executor_;
    service_table services_;
    base::logger& log_;
    std::map<std::string, std::unique_ptr<net::client>> clients_;  // by address and authority
};

}  // namespace cotrain::sim
