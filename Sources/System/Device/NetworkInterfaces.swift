import CNightshift  // where this module is loaded too, the compiler treats sockaddr as a type of the module
import Glibc

/// The interfaces of this machine that belong to a network.
///
/// A network without internet access counts too, because the device can reach a host in the same building.
enum NetworkInterfaces {
    /// Returns the addresses of active interfaces, without link-local ones; nil if the kernel does not report
    /// addresses.
    static func addresses() -> [InterfaceAddress]? {
        var first: UnsafeMutablePointer<ifaddrs>?
        guard getifaddrs(&first) == 0 else { return nil }
        defer { freeifaddrs(first) }
        var found: [InterfaceAddress] = []
        var next = first
        while let interface = next?.pointee {
            next = interface.ifa_next
            let flags = Int32(bitPattern: interface.ifa_flags)
            let usable = Int32(IFF_UP | IFF_RUNNING)
            guard flags & usable == usable, flags & Int32(IFF_LOOPBACK) == 0, let address = interface.ifa_addr,
                let network = network(of: address)
            else { continue }
            found.append(InterfaceAddress(interface: String(cString: interface.ifa_name), network: network))
        }
        return found
    }

    /// Returns the network of an address; nil for a link-local address.
    private static func network(of address: UnsafeMutablePointer<sockaddr>) -> String? {
        switch Int32(address.pointee.sa_family) {
        case AF_INET:
            address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                ipv4(UInt32(bigEndian: $0.pointee.sin_addr.s_addr))
            }
        case AF_INET6:
            address.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                withUnsafeBytes(of: $0.pointee.sin6_addr) { ipv6(Array($0)) }
            }
        default: nil
        }
    }

    private static func ipv4(_ address: UInt32) -> String? {
        // 169.254/16 is link-local (RFC 3927).
        guard address >> 16 != 0xa9fe else { return nil }
        return [24, 16, 8, 0].map { String(address >> UInt32($0) & 0xff) }.joined(separator: ".")
    }

    /// Returns the prefix of an address. The rest of the address changes every day (RFC 8981).
    private static func ipv6(_ address: [UInt8]) -> String? {
        // fe80::/10 is link-local (RFC 4291).
        guard !(address[0] == 0xfe && address[1] & 0xc0 == 0x80) else { return nil }
        let groups = stride(from: 0, to: 8, by: 2).map {
            String(Int(address[$0]) << 8 | Int(address[$0 + 1]), radix: 16)
        }
        return groups.joined(separator: ":") + "::/64"
    }
}

/// An address of an interface: the address itself for IPv4, the network for IPv6.
struct InterfaceAddress: Hashable {
    var interface: String
    var network: String
}
