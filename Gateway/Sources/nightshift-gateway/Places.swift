import ArgumentParser
import Foundation

/// Where a gateway keeps what it has, and where it is asked.
struct PlaceOptions: ParsableArguments {
    @Option(
        help: "The socket for administration. By default beside the gateway's state, or in systemd's folder for it.")
    var socket: String?

    /// What systemd gives, or what a gateway that is run by hand uses.
    static let defaultState = "/var/lib/nightshift-gateway"
    static let serviceSocket = "/run/nightshift-gateway/admin.sock"

    static func variable(_ name: String) -> String? {
        ProcessInfo.processInfo.environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }

    func socketPath(state: String? = nil) -> String {
        if let socket { return socket }
        if let given = Self.variable("NIGHTSHIFT_GATEWAY_SOCKET") { return given }
        if let folder = Self.variable("RUNTIME_DIRECTORY") { return folder + "/admin.sock" }
        if let state { return state + "/admin.sock" }
        return Self.serviceSocket
    }
}
