import NightshiftAPI

/// The active window of an X11 display, and what its properties say of whose it is.
///
/// Pure: what the server answers goes in, what to ask of it comes out. Titles are not asked for.
struct ActiveWindow {
    /// The properties of a window that tell whose it is.
    enum Property: String, CaseIterable {
        case applicationID = "_GTK_APPLICATION_ID"
        case classes = "WM_CLASS"
        case processID = "_NET_WM_PID"
        /// The machine on which the process is.
        case machine = "WM_CLIENT_MACHINE"
    }

    /// This machine's name, as its programs write it into `WM_CLIENT_MACHINE`.
    let host: String
    /// 0 where no window is active.
    private(set) var window: UInt32 = 0
    private var values: [Property: [UInt8]] = [:]
    private var unanswered: Set<Property> = []
    /// The application of the active window, as of the last one of which everything was answered; nil where none is active.
    private(set) var front: FrontApplication?

    init(host: String) {
        self.host = host
    }

    /// A window has become active, 0 being none.
    ///
    /// - Returns: the properties to ask it for.
    mutating func changed(to window: UInt32) -> [Property] {
        guard window != self.window else { return [] }
        self.window = window
        values = [:]
        unanswered = window == 0 ? [] : Set(Property.allCases)
        if window == 0 { front = nil }
        return window == 0 ? [] : Property.allCases
    }

    /// A window is gone. Its window manager may yet call it the active one, where it was the last.
    mutating func closed(_ window: UInt32) {
        if window == self.window { _ = changed(to: 0) }
    }

    /// A property's bytes have come, nil where the window has none; those of another window come too late.
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

    /// Texts that end with a zero each.
    private static func names(_ bytes: [UInt8]) -> [String] {
        bytes.split(separator: 0).filter { $0.count <= FrontApplication.longestName }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    private static func processID(_ bytes: [UInt8]) -> Int32? {
        guard bytes.count == 4 else { return nil }
        // In this machine's order of bytes, as libxcb hands it over.
        let value = bytes.withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        return Int32(exactly: value).flatMap { $0 > 0 ? $0 : nil }
    }
}
