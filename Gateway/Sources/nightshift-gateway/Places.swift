import ArgumentParser
import Foundation

/// The options that locate a gateway's state and its socket for administration.
struct PlaceOptions: ParsableArguments {
    @Option(
        help: "The socket for administration. Default: in the state folder, or in systemd's runtime folder.")
    var socket: String?

    /// The default state folder. systemd creates it for the service. A gateway that is started by hand also uses it.
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
