// The few Asio names that every coroutine uses, in one place.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace cotrain {

namespace asio = boost::asio;
template <class T = void>
using awaitable = asio::awaitable<T>;

// co_await op(use_tuple) gives [error_code, results…] and does not throw.
inline constexpr auto use_tuple = asio::as_tuple(asio::deferred);

}  // namespace cotrain
