import CNightshift
import Glibc

/// Whether this machine has a network, and when that may have changed.
package enum NetworkMonitor {
    /// Whether some interface other than loopback is up and has an address that reaches beyond its link.
    ///
    /// A network without the internet counts: a host of the same house can be reached.
    package static func isAvailable() -> Bool {
        var first: UnsafeMutablePointer<ifaddrs>?
        // Not knowing must not hold transfers up: an attempt will tell.
        guard getifaddrs(&first) == 0 else { return true }
        defer { freeifaddrs(first) }
        var next = first
        while let interface = next?.pointee {
            next = interface.ifa_next
            let flags = Int32(bitPattern: interface.ifa_flags)
            let usable = Int32(IFF_UP | IFF_RUNNING)
            guard flags & usable == usable, flags & Int32(IFF_LOOPBACK) == 0, let address = interface.ifa_addr
            else { continue }
            if reachesBeyondLink(address) { return true }
        }
        return false
    }

    /// One value each time a link, an address or a route changes.
    package static func changes() -> AsyncStream<Void> {
        KernelNotices.stream(
            named: "network", open: nightshift_network_change_descriptor, wait: nightshift_wait_for_network_change)
    }

    private static func reachesBeyondLink(_ address: UnsafeMutablePointer<sockaddr>) -> Bool {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                // 169.254/16 is link-local (RFC 3927).
                UInt32(bigEndian: $0.pointee.sin_addr.s_addr) >> 16 != 0xa9fe
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { bytes in
                    // fe80::/10 is link-local (RFC 4291).
                    !(bytes[0] == 0xfe && bytes[1] & 0xc0 == 0x80)
                }
            }
        default: false
        }
    }
}
