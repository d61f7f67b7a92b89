import Foundation

/// A display from the environment of the session.
enum Display: Hashable {
    /// A Wayland compositor, by the path of its socket.
    case wayland(path: String)
    /// An X server on this machine.
    case x11(X11Display)

    /// The path of the display's socket.
    var socketPath: String {
        switch self {
        case .wayland(let path): path
        case .x11(let display): display.socketPath
        }
    }
}

/// An X server on this machine, and the file with its credentials.
struct X11Display: Hashable {
    var number: Int
    /// The path of the credentials file: the value of `XAUTHORITY`, or its default.
    var authority: String?

    var name: String { ":\(number)" }
    var socketPath: String { "\(Self.folder)/X\(number)" }

    static let folder = "/tmp/.X11-unix"

    init(number: Int, authority: String? = nil) {
        self.number = number
        self.authority = authority
    }

    /// Parses a value of `DISPLAY`. Only displays of this machine are accepted, such as `:0` or `unix:0.1`. A display
    /// that ssh(1) forwards also shows windows of another machine.
    init?(name: String, authority: String?) {
        let parts = name.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].isEmpty || parts[0] == "unix" else { return nil }
        let number = parts[1].prefix { $0 != "." }
        guard !number.isEmpty, number.allSatisfy(\.isASCII), let number = Int(number), (0...65_535).contains(number)
        else { return nil }
        self.init(number: number, authority: authority)
    }
}

/// The displays of a session, and the paths at which their sockets may appear.
///
/// A pure value. The Wayland display comes first, because an X server next to it knows only the windows of X11 clients.
struct Displays: Equatable {
    private(set) var found: [Display] = []
    /// The name of the desktop (`XDG_CURRENT_DESKTOP`).
    private(set) var desktop: String?
    private let runtimeDirectory: String?

    /// - Parameters:
    ///   - session: the environment that the systemd user manager gives to the programs it starts; nil if no user
    ///     manager answers. A desktop adds its display to this environment. The environment of the service may be
    ///     older.
    init(session: [String: String]?, service: [String: String]) {
        runtimeDirectory = Self.value("XDG_RUNTIME_DIR", service) ?? Self.value("XDG_RUNTIME_DIR", session ?? [:])
        for environment in [session ?? [:], service] {
            if let display = wayland(environment), !found.contains(display) { found.append(display) }
        }
        for environment in [session ?? [:], service] {
            if let display = Self.x11(environment), !found.contains(where: { $0.socketPath == display.socketPath }) {
                found.append(display)
            }
        }
        desktop = Self.value("XDG_CURRENT_DESKTOP", session ?? [:]) ?? Self.value("XDG_CURRENT_DESKTOP", service)
    }

    /// The socket paths whose appearance causes a new attempt to connect: the sockets of the known displays, and the
    /// sockets that a desktop is likely to create when it starts later.
    var socketPaths: [String] {
        var paths = found.map(\.socketPath)
        let wayland = (0..<Self.likelyNumbers).compactMap { number in runtimeDirectory.map { "\($0)/wayland-\(number)" }
        }
        let x11 = (0..<Self.likelyNumbers).map { X11Display(number: $0).socketPath }
        for path in wayland + x11 where !paths.contains(path) { paths.append(path) }
        return paths
    }

    /// The number of display numbers to watch. A server takes the first free number, and more than a few servers at
    /// once are rare.
    private static let likelyNumbers = 8

    private func wayland(_ environment: [String: String]) -> Display? {
        guard let name = Self.value("WAYLAND_DISPLAY", environment) else { return nil }
        if name.hasPrefix("/") { return .wayland(path: name) }
        let folder = Self.value("XDG_RUNTIME_DIR", environment) ?? runtimeDirectory
        return folder.map { .wayland(path: "\($0)/\(name)") }
    }

    private static func x11(_ environment: [String: String]) -> Display? {
        guard let name = value("DISPLAY", environment) else { return nil }
        let authority = value("XAUTHORITY", environment) ?? value("HOME", environment).map { "\($0)/.Xauthority" }
        return X11Display(name: name, authority: authority).map(Display.x11)
    }

    private static func value(_ name: String, _ environment: [String: String]) -> String? {
        environment[name].flatMap { $0.isEmpty ? nil : $0 }
    }
}
