import Glibc
import NIOCore
import NIOPosix

extension ServerBootstrap {
    /// Opens the port of `address`. If that fails, the error names the port.
    func bind(to address: GatewaySettings.Address) async throws -> any Channel {
        do {
            return try await bind(host: address.host, port: address.port).get()
        } catch let error as IOError {
            let reason = String(cString: strerror(error.errnoCode))
            throw GatewayError("Port \(address.port) of '\(address.host)' cannot be opened: \(reason).")
        } catch is SocketAddressError {
            throw GatewayError("'\(address.host)' is not an address of this machine.", isPermanent: true)
        }
    }
}
