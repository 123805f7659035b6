// Runs a coroutine to its end on a fresh event loop: the bridge from a test body to awaitable code.
#pragma once

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <exception>
#include <optional>
#include <stdexcept>
#include <utility>

#include "base/asio.hpp"

namespace cotrain::test {

// Runs until the loop has no work left, so a coroutine that leaks work hangs its test instead of hiding it.
template <class T>
T run(asio::io_context& loop, awaitable<T> task) {
    std::optional<T> value;
    std::exception_ptr error;
    asio::co_spawn(loop, std::move(task), [&](std::exception_ptr e, T v) {
        error = e;
        if (!e) value.emplace(std::move(v));
    });
    loop.restart();
    loop.run();
    if (error) std::rethrow_exception(error);
    if (!value) throw std::logic_error("the loop ran dry before the coroutine ended");
    return std::move(*value);
}

inline void run(asio::io_context& loop, awaitable<void> task) {
    bool done = false;
    std::exception_ptr error;
    asio::co_spawn(loop, std::move(task), [&](std::exception_ptr e) {
        error = e;
        done = true;
    });
    loop.restart();
    loop.run();
    if (error) std::rethrow_exception(error);
    if (!done) throw std::logic_error("the loop ran dry before the coroutine ended");
}

}  // namespace cotrain::test
