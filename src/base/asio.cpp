// Asio's own implementation, compiled once.
#include <boost/asio/impl/src.hpp>
