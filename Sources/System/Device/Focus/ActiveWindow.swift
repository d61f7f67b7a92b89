import NightshiftAPI

/// The active window of an X11 display, and the properties that identify the application of that window.
///
/// A pure value: answers of the server are inputs, the requests to send are outputs. Window titles are not requested.
struct ActiveWindow {
    /// The properties of a window that identify its application.
    enum Property: String, CaseIterable {
        case applicationID = "_GTK_APPLICATION_ID"
        case classes = "WM_CLASS"
        case processID = "_NET_WM_PID"
        /// The machine on which the process runs.
        case machine = "WM_CLIENT_MACHINE"
    }

    /// The name of this machine, as local programs write it to `WM_CLIENT_MACHINE`.
    let host: String
    /// The active window; 0 if none is active.
    private(set) var window: UInt32 = 0
    private var values: [Property: [UInt8]] = [:]
    private var unanswered: Set<Property> = []
    /// The application of the last active window whose properties have all arrived; nil if no window is active.
    private(set) var front: FrontApplication?

    init(host: String) {
        self.host = host
    }

    /// Handles a change of the active window. The number 0 means that no window is active.
    ///
    /// - Returns: the properties to request.
    mutating func changed(to window: UInt32) -> [Property] {
        guard window != self.window else { return [] }
        self.window = window
        values = [:]
        unanswered = window == 0 ? [] : Set(Property.allCases)
        if window == 0 { front = nil }
        return window == 0 ? [] : Property.allCases
    }

    /// Handles the end of a window. If it was the last window, the window manager may still report it as active.
    mutating func closed(_ window: UInt32) {
        if window == self.window { _ = changed(to: 0) }
    }

    /// Handles the bytes of a property; nil means that the window does not have it. An answer about a window that is no
    /// longer active is ignored.
    mutating func answered(_ property: Property, of window: UInt32, _ value: [UInt8]?) {
        guard window == self.window, unanswered.remove(property) != nil else { return }
        values[property] = value
        if unanswered.isEmpty { front = application }
    }

    private var application: FrontApplication {
        var application = FrontApplication()
        application.applicationID = values[.applicationID].flatMap { Self.names($0).first }
        application.windowClasses = values[.classes].map { Array(Self.names($0).prefix(2)) } ?? []
        let isLocal = values[.machine].map { Self.names($0).first == host } ?? true
        if isLocal, let bytes = values[.processID] { application.processID = Self.processID(bytes) }
        return application
    }

    /// Returns the strings of a text in which each string ends with a zero byte.
    private static func names(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: 0).filter { $0.count <= FrontApplication.longestName }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static func processID(_ bytes: [UInt8]) -> Int32? {
        guard bytes.count == 4 else { return nil }
        // libxcb delivers the value in the byte order of this machine.
        let value = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        return Int32(exactly: value).flatMap { $0 > 0 ? $0 : nil }
    }
}
