// The operator inside of another program: on that program's event loop. It handles no signal, writes no file and never
// calls exit(); it reads the files that its configuration and the kubeconfig name. An exception that escapes from it is
// a bug and leaves the loop's run(), as any handler's does: a host that must go on catches it there and ends.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>
#include <string>

#include "base/asio.hpp"
#include "base/error.hpp"
#include "base/log.hpp"
#include "runtime/plugin_set.hpp"

namespace cotrain {

[[nodiscard]] base::result<runtime::plugins> builtin_plugins(const runtime::plugin_options& options);

struct operator_settings {
    std::string kubeconfig{};     // empty: KUBECONFIG, the Pod's account, ~/.kube/config
    std::string context{};        // of the kubeconfig; empty: its current one
    std::string configuration{};  // text of kind Configuration; empty: defaults, which serve on ports of their own
    // The built-in plugins, or with your own among them: &plugins::builtin_with<yours>::make ("plugins/builtin.hpp").
    runtime::plugin_maker plugins = &builtin_plugins;
};

enum class operator_end : int {
    stopped = 0,
    failed = 1,      // the log says why: a port, for instance
    lost_lease = 3,  // another replica may lead: make a new one, which follows
};

// Belongs to the thread that runs the loop; run() must have returned before it is destroyed, and the loop lives longer.
class embedded_operator {
   public:
    // Reads the configuration and finds the cluster; connects in run(). Errors are one line for people.
    [[nodiscard]] static base::result<std::unique_ptr<embedded_operator>> make(boost::asio::io_context& loop,
                                                                               operator_settings settings,
                                                                               base::logger& log);
    ~embedded_operator();
    embedded_operator(const embedded_operator&) = delete;
    embedded_operator& operator=(const embedded_operator&) = delete;

    // Works until stop(), or until the Lease is lost. Once.
    [[nodiscard]] awaitable<operator_end> run();
    // run() returns within 5 seconds: what is under way ends, the Lease is given back. In a Pod webhooks are answered
    // for the first 3 of them.
    void stop();

    // In sync with the cluster.
    [[nodiscard]] bool synced() const;
    // Working: it has the Lease, or needs none.
    [[nodiscard]] bool leading() const;

   private:
    struct inside;
    explicit embedded_operator(std::unique_ptr<inside> in);
    std::unique_ptr<inside> inside_;
};

}  // namespace cotrain
