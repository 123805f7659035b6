// Names exceptions.
#include "base/contain.hpp"

#include <boost/system/system_error.hpp>
#include <exception>

#include "base/asio.hpp"

namespace cotrain::base {

std::string caught() {
    const auto named = [](const char* text) { return *text == '\0' ? "an exception without a text" : text; };
    try {
        throw;
    } catch (const boost::system::system_error& e) {
        if (e.code() == asio::error::operation_aborted) throw;
        return named(e.what());
    } catch (const std::exception& e) {
        return named(e.what());
    } catch (...) {
        return "something that is no std::exception";
    }
}

}  // namespace cotrain::base
