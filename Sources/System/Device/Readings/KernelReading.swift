import Foundation
import Glibc
import NightshiftAPI

/// A reader of the kernel's values: free space, and the state of the network according to interfaces and routes.
enum KernelReading {
    /// Returns the current values, and the interface of the default route.
    static func now(freeSpaceOf path: String) -> (reading: ProviderReading, interface: String?) {
        let addresses = NetworkInterfaces.addresses()
        let route = DefaultRoute.interface(
            ipv4: KernelFile.text("/proc/thread-self/net/route") ?? "",
            ipv6: KernelFile.text("/proc/thread-self/net/ipv6_route") ?? "")
        var reading = ProviderReading(
            source: .kernel, isPresent: true,
            values: network(addresses, interface: route.map { NetworkInterface(named: $0) }))
        if let freeBytes = freeBytes(of: path) { reading.values[.freeBytes] = String(freeBytes) }
        return (reading, route)
    }

    /// Returns the network values. If `addresses` is nil, the kernel does not report addresses. The network is then
    /// unknown, and does not delay transfers, because an attempt will show its state.
    static func network(
        _ addresses: [InterfaceAddress]?, interface: NetworkInterface?
    ) -> [DeviceKey: String] {
        guard let addresses else { return [:] }
        var values: [DeviceKey: String] = [.network: addresses.isEmpty ? "no" : "yes"]
        // Interfaces without a default route, such as bridges of virtual machines, may come and go without a change of
        // network.
        let through = addresses.filter { $0.interface == interface?.name }
        values[.networkName] = name(through.isEmpty ? addresses : through)
        if let interface {
            values[.interface] = interface.kind.rawValue
            if interface.kind == .cellular { values[.expensive] = "yes" }
        }
        return values
    }

    private static func name(_ addresses: [InterfaceAddress]) -> String {
        let names = Set(addresses.map { "\($0.interface) \($0.network)" }).sorted()
        // A network may announce many IPv6 prefixes. The first few suffice to distinguish networks.
        return names.isEmpty ? "none" : names.prefix(8).joined(separator: ", ")
    }

    private static func freeBytes(of path: String) -> Int64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let (bytes, overflow) = Int64(clamping: status.f_bavail).multipliedReportingOverflow(
            by: Int64(clamping: status.f_frsize))
        return overflow ? .max : bytes
    }
}

/// A network interface as sysfs describes it.
struct NetworkInterface: Equatable {
    var name: String
    var kind: NetworkKind
}

extension NetworkInterface {
    init(named name: String, below root: String = "/sys/class/net") {
        let folder = "\(root)/\(name)"
        let uevent = KernelFile.text("\(folder)/uevent") ?? ""
        let type = KernelFile.text("\(folder)/type") ?? ""
        self.init(
            name: name,
            kind: Self.kind(
                name: name, uevent: uevent, type: Int(type.trimmingCharacters(in: .whitespacesAndNewlines)),
                isWireless: access("\(folder)/wireless", F_OK) == 0 || access("\(folder)/phy80211", F_OK) == 0,
                isTunnel: access("\(folder)/tun_flags", F_OK) == 0))
    }

    /// Returns the likely kind of an interface, based on the same signs as udev's names and NetworkManager.
    static func kind(name: String, uevent: String, type: Int?, isWireless: Bool, isTunnel: Bool) -> NetworkKind {
        let device = uevent.split(separator: "\n").first { $0.hasPrefix("DEVTYPE=") }?.dropFirst("DEVTYPE=".count)
        if isWireless || device == "wlan" { return .wifi }
        if device == "wwan" || name.hasPrefix("ww") { return .cellular }
        if device == "bluetooth" { return .bluetooth }
        if device == "wireguard" || isTunnel { return .vpn }
        // Type 1 is ARPHRD_ETHER (linux/if_arp.h).
        return type == 1 ? .wired : .other
    }
}

/// A parser of the kernel's routing tables.
enum DefaultRoute {
    /// Returns the interface of the default route with the smallest metric; nil without a default route. IPv4 routes
    /// take precedence.
    static func interface(ipv4: String, ipv6: String) -> String? {
        // The columns are: Iface Destination Gateway Flags RefCnt Use Metric Mask MTU Window IRTT.
        let first = best(ipv4) { fields in
            guard fields.count >= 8, fields[1] == "00000000", fields[7] == "00000000",
                let flags = Int(fields[3], radix: 16), isUsable(flags), let metric = Int(fields[6])
            else { return nil }
            return (String(fields[0]), metric)
        }
        // The columns are: destination, its length, source, its length, next hop, metric, references, uses, flags,
        // interface.
        return first
            ?? best(ipv6) { fields in
                guard fields.count >= 10, fields[0].allSatisfy({ $0 == "0" }), fields[1] == "00",
                    let flags = Int(fields[8], radix: 16), isUsable(flags), let metric = Int(fields[5], radix: 16)
                else { return nil }
                return (String(fields[9]), metric)
            }
    }

    /// Returns whether a route has the flag RTF_UP and not RTF_REJECT (linux/route.h).
    private static func isUsable(_ flags: Int) -> Bool { flags & 0x1 != 0 && flags & 0x200 == 0 }

    private static func best(_ table: String, _ route: ([Substring]) -> (interface: String, metric: Int)?) -> String? {
        table.split(separator: "\n")
            .compactMap { route($0.split(whereSeparator: { $0 == " " || $0 == "\t" })) }
            .filter { $0.interface != "lo" }
            .min { $0.metric < $1.metric }?.interface
    }
}
