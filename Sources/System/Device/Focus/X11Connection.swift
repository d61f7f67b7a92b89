import CDesktop
import Foundation
import Glibc
import NightshiftAPI

/// A connection to an X server whose window manager reports the active window. Used by one thread.
///
/// Only connecting blocks. After that, requests are queued, and answers are read when poll(2) reports them.
final class X11Connection {
    private let xcb: nightshift_xcb
    private let connection: OpaquePointer
    private let root: UInt32
    private var active: ActiveWindow
    private var atoms: [String: UInt32] = [:]
    /// The requests in progress, in the order of their answers.
    private var questions: [(sequence: UInt32, question: Question)] = []
    private var manager = WindowManagerWord()
    /// Whether the active window has been requested.
    private var isAsked = false
    /// Whether all answers about the first window have arrived.
    private var isSettled = false

    private enum Question {
        case atom(String)
        case supported
        case activeWindow
        /// A request that checks whether the window manager's own window exists.
        case check
        case answer(of: UInt32)
        case property(ActiveWindow.Property, of: UInt32)
    }

    private static let activeWindow = "_NET_ACTIVE_WINDOW"
    private static let supported = "_NET_SUPPORTED"
    private static let check = "_NET_SUPPORTING_WM_CHECK"
    /// The number of four-byte units to request of a property. This is far more than a name or a list of hints needs.
    private static let longestProperty: UInt32 = 1_024

    init(_ display: X11Display) throws(FocusFailure) {
        var xcb = nightshift_xcb()
        guard nightshift_xcb_load(&xcb) else { throw FocusFailure("libxcb.so.1 is not installed") }
        var screen: Int32 = 0
        let connection = Self.connect(xcb, display, &screen)
        guard let connection else { throw FocusFailure("the X server \(display.name) cannot be reached") }
        guard xcb.connection_has_error(connection) == 0 else {
            xcb.disconnect(connection)
            throw FocusFailure("the X server \(display.name) cannot be reached")
        }
        var screens = xcb.setup_roots_iterator(xcb.get_setup(connection))
        while screen > 0, screens.rem > 1 {
            xcb.screen_next(&screens)
            screen -= 1
        }
        guard screens.rem > 0, let data = screens.data else {
            xcb.disconnect(connection)
            throw FocusFailure("the X server \(display.name) has no screen")
        }
        self.xcb = xcb
        self.connection = connection
        root = data.pointee.root
        active = ActiveWindow(host: Self.hostName)
        for name in [Self.supported, Self.activeWindow, Self.check] + ActiveWindow.Property.allCases.map(\.rawValue) {
            let cookie = xcb.intern_atom(connection, 0, UInt16(name.utf8.count), name)
            questions.append((cookie.sequence, .atom(name)))
        }
        select(XCB_EVENT_MASK_PROPERTY_CHANGE.rawValue, of: root)
        _ = xcb.flush(connection)
    }

    deinit {
        xcb.disconnect(connection)
    }

    var descriptor: Int32 { xcb.get_file_descriptor(connection) }

    /// The report that follows from the answers read so far; nil until the initial answers have arrived.
    var report: FocusReport? {
        guard let isTold = manager.isTold else { return nil }
        guard isTold else { return .nobody("the X server has no window manager that reports the active window") }
        return isSettled ? FocusReport(application: active.front, source: .x11) : nil
    }

    /// Reads and handles the events and answers that have arrived. Throws when the connection has ended.
    func process() throws(FocusFailure) {
        // Sending may also read data into libxcb's buffer, and poll(2) would not report that data.
        while takeEvents() || takeAnswers() { _ = xcb.flush(connection) }
        guard xcb.connection_has_error(connection) == 0 else {
            throw FocusFailure("the connection to the X server was lost")
        }
    }

    // MARK: - Events

    private func takeEvents() -> Bool {
        var isAny = false
        while let event = xcb.poll_for_event(connection) {
            isAny = true
            defer { free(event) }
            // The highest bit marks events that were sent by another client.
            switch Int32(event.pointee.response_type & 0x7f) {
            case XCB_PROPERTY_NOTIFY:
                event.withMemoryRebound(to: xcb_property_notify_event_t.self, capacity: 1) { changed($0.pointee) }
            case XCB_DESTROY_NOTIFY:
                event.withMemoryRebound(to: xcb_destroy_notify_event_t.self, capacity: 1) {
                    active.closed($0.pointee.window)
                    manager.closed($0.pointee.window)
                }
            default: break
            }
        }
        return isAny
    }

    private func changed(_ event: xcb_property_notify_event_t) {
        guard event.window == root else { return }
        switch event.atom {
        case atoms[Self.activeWindow]: ask(Self.activeWindow, of: root, .activeWindow)
        case atoms[Self.supported]: ask(Self.supported, of: root, .supported)
        case atoms[Self.check]: ask(Self.check, of: root, .check)
        default: break
        }
    }

    // MARK: - Questions and answers

    private func ask(_ property: String, of window: UInt32, _ question: Question) {
        guard let atom = atoms[property] else { return }
        let anyType = XCB_GET_PROPERTY_TYPE_ANY.rawValue
        let cookie = xcb.get_property(connection, 0, window, atom, anyType, 0, Self.longestProperty)
        questions.append((cookie.sequence, question))
    }

    private func takeAnswers() -> Bool {
        var isAny = false
        while let (sequence, question) = questions.first {
            var reply: UnsafeMutableRawPointer?
            var error: UnsafeMutablePointer<xcb_generic_error_t>?
            guard xcb.poll_for_reply(connection, sequence, &reply, &error) != 0 else { break }
            isAny = true
            questions.removeFirst()
            defer {
                free(reply)
                free(error)
            }
            answered(question, reply)
        }
        return isAny
    }

    private func answered(_ question: Question, _ reply: UnsafeMutableRawPointer?) {
        switch question {
        case .atom(let name):
            atoms[name] = reply?.assumingMemoryBound(to: xcb_intern_atom_reply_t.self).pointee.atom
            guard !questions.contains(where: { if case .atom = $0.question { true } else { false } }) else { return }
            ask(Self.supported, of: root, .supported)
            ask(Self.check, of: root, .check)
            ask(Self.activeWindow, of: root, .activeWindow)
        case .supported:
            manager.listsActiveWindow =
                atoms[Self.activeWindow].map { Self.numbers(bytes(reply) ?? []).contains($0) } ?? false
        case .check:
            let window = Self.numbers(bytes(reply) ?? []).first ?? 0
            guard manager.named(window) else { break }
            // The window's events are selected before its properties are requested, so that the window's end is not
            // missed.
            select(XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue, of: window)
            ask(Self.check, of: window, .answer(of: window))
        case .answer(let window):
            // The server answers a request about a missing window with an error.
            manager.answered(window, isThere: reply != nil)
        case .activeWindow:
            activeIs(Self.numbers(bytes(reply) ?? []).first ?? 0)
        case .property(let property, let window):
            if reply == nil {
                // The window was closed before the server received the request.
                active.closed(window)
            } else {
                active.answered(property, of: window, bytes(reply))
            }
        }
        if active.front != nil || active.window == 0, isAsked { isSettled = true }
    }

    private func activeIs(_ window: UInt32) {
        isAsked = true
        let former = active.window
        guard window != former else { return }
        // Events are needed only for the active window.
        if former != 0 { select(0, of: former) }
        if window != 0 { select(XCB_EVENT_MASK_STRUCTURE_NOTIFY.rawValue, of: window) }
        for property in active.changed(to: window) {
            ask(property.rawValue, of: window, .property(property, of: window))
        }
    }

    private func select(_ events: UInt32, of window: UInt32) {
        var mask = events
        _ = xcb.change_window_attributes(connection, window, XCB_CW_EVENT_MASK.rawValue, &mask)
    }

    /// Returns the value of a property; nil if the window does not have the property.
    private func bytes(_ reply: UnsafeMutableRawPointer?) -> [UInt8]? {
        guard let reply = reply?.assumingMemoryBound(to: xcb_get_property_reply_t.self),
            reply.pointee.type != XCB_ATOM_NONE.rawValue, let value = xcb.get_property_value(reply)
        else { return nil }
        let count = Int(xcb.get_property_value_length(reply))
        return Array(UnsafeRawBufferPointer(start: value, count: max(0, count)))
    }

    private static func numbers(_ bytes: [UInt8]) -> [UInt32] {
        bytes.withUnsafeBytes { buffer in
            stride(from: 0, to: buffer.count - buffer.count % 4, by: 4).map {
                buffer.loadUnaligned(fromByteOffset: $0, as: UInt32.self)
            }
        }
    }

    // MARK: - Connecting

    private static func connect(_ xcb: nightshift_xcb, _ display: X11Display, _ screen: inout Int32) -> OpaquePointer? {
        guard var cookie = cookie(of: display) else {
            // libxcb finds the credentials without help. A server may also identify the user by the socket instead of
            // by credentials.
            return xcb.connect_to_display_with_auth_info(display.name, nil, &screen)
        }
        var name = XAuthority.cookie
        return name.withUnsafeMutableBytes { name in
            cookie.withUnsafeMutableBytes { cookie in
                var permission = xcb_auth_info_t(
                    namelen: Int32(name.count), name: name.assumingMemoryBound(to: CChar.self).baseAddress,
                    datalen: Int32(cookie.count), data: cookie.assumingMemoryBound(to: CChar.self).baseAddress)
                return xcb.connect_to_display_with_auth_info(display.name, &permission, &screen)
            }
        }
    }

    private static func cookie(of display: X11Display) -> [UInt8]? {
        guard let path = display.authority else { return nil }
        let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard file >= 0 else { return nil }
        let handle = FileHandle(fileDescriptor: file, closeOnDealloc: true)
        guard let data = try? handle.read(upToCount: XAuthority.largestFile) else { return nil }
        return XAuthority(Array(data)).cookie(display: display.number, host: hostName)
    }

    private static var hostName: String {
        // The buffer is longer than any host name on Linux, so it always ends with a zero.
        var buffer = [CChar](repeating: 0, count: 256)
        guard gethostname(&buffer, buffer.count - 1) == 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
