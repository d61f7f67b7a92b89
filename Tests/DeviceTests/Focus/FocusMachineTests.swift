import NightshiftAPI
import TestSupport
import Testing

@testable import Device

/// Tests of the pure state machines for the foreground application (decision 0038).
@Suite struct FocusMachineTests {
    // MARK: - Wayland

    private static func told(_ list: inout ToplevelList, _ window: UInt64, _ name: String?, isActivated: Bool) {
        if let name { list.named(window, name) }
        list.stateIs(window, isActivated: isActivated)
        list.finished(window)
    }

    @Test func `L8: A window counts once the compositor has sent its complete state`() {
        var list = ToplevelList()
        #expect(list.front == nil)
        _ = list.opened(1)
        list.named(1, "one")
        list.stateIs(1, isActivated: true)
        #expect(list.front == nil)
        list.finished(1)
        #expect(list.front == FrontApplication(applicationID: "one"))
        list.stateIs(1, isActivated: false)
        #expect(list.front?.applicationID == "one")
        list.finished(1)
        #expect(list.front == nil)
        // A window that was never announced is ignored.
        list.stateIs(7, isActivated: true)
        list.finished(7)
        #expect(list.front == nil)
    }

    @Test func `L8: The most recent of several activated windows is in the foreground`() {
        var list = ToplevelList()
        for window in [UInt64(1), 2, 3] { _ = list.opened(window) }
        Self.told(&list, 1, "one", isActivated: true)
        Self.told(&list, 2, "two", isActivated: true)
        Self.told(&list, 3, "three", isActivated: false)
        #expect(list.front?.applicationID == "two")
        // A new name does not count as a new activation.
        Self.told(&list, 1, "uno", isActivated: true)
        #expect(list.front?.applicationID == "two")
        list.closed(2)
        #expect(list.front?.applicationID == "uno")
        list.closed(1)
        #expect(list.front == nil)
    }

    @Test func `L8: The machine ignores invalid names and windows beyond the maximum`() {
        var list = ToplevelList()
        _ = list.opened(1)
        Self.told(&list, 1, String(repeating: "x", count: FrontApplication.longestName + 1), isActivated: true)
        #expect(list.front?.isNameless == true)
        Self.told(&list, 1, "", isActivated: true)
        #expect(list.front?.isNameless == true)
        let followed = (2...UInt64(ToplevelList.most) + 1).map { list.opened($0) }
        #expect(followed.dropLast().allSatisfy { $0 } && followed.last == false)
    }

    // MARK: - X11

    private static func text(_ texts: String...) -> [UInt8] { texts.flatMap { Array($0.utf8) + [0] } }

    private static func number(_ value: UInt32) -> [UInt8] { withUnsafeBytes(of: value) { Array($0) } }

    @Test func `L8: The machine reports an active window once all answers have arrived`() {
        var active = ActiveWindow(host: "here")
        let questions = [active.changed(to: 5), active.changed(to: 5)]
        #expect(questions == [ActiveWindow.Property.allCases, []])
        active.answered(.classes, of: 5, Self.text("one", "One", "more"))
        active.answered(.processID, of: 5, Self.number(1_234))
        active.answered(.applicationID, of: 5, Self.text("org.example.One"))
        #expect(active.front == nil)
        active.answered(.machine, of: 5, Self.text("here"))
        #expect(
            active.front
                == FrontApplication(
                    applicationID: "org.example.One", windowClasses: ["one", "One"], processID: 1_234))
        // The former window stays in the foreground until the next one is fully known.
        _ = active.changed(to: 6)
        active.answered(.classes, of: 5, Self.text("late"))
        #expect(active.front?.applicationID == "org.example.One")
        for property in ActiveWindow.Property.allCases { active.answered(property, of: 6, nil) }
        #expect(active.front?.isNameless == true)
        // A window manager may report a closed window as active, and later another one with the same number.
        active.closed(5)
        #expect(active.front != nil)
        active.closed(6)
        #expect(active.front == nil)
        let again = active.changed(to: 6)
        #expect(again == ActiveWindow.Property.allCases)
        for property in ActiveWindow.Property.allCases { active.answered(property, of: 6, nil) }
        let none = active.changed(to: 0)
        #expect(none.isEmpty && active.front == nil)
    }

    @Test(
        arguments: [
            ([1, 0, 0], "here", nil), (number(0), "here", nil), (number(.max), "here", nil), (nil, "here", nil),
            (number(7), "there", nil), (number(7), nil, 7), (number(7), "here", 7),
        ] as [([UInt8]?, String?, Int32?)])
    func `L8: An active window has a process id only if the process can be on this machine`(
        bytes: [UInt8]?, machine: String?, process: Int32?
    ) {
        var active = ActiveWindow(host: "here")
        _ = active.changed(to: 5)
        active.answered(.applicationID, of: 5, nil)
        active.answered(.classes, of: 5, nil)
        active.answered(.processID, of: 5, bytes)
        active.answered(.machine, of: 5, machine.map { Array($0.utf8) })
        #expect(active.front == FrontApplication(processID: process))
    }

    @Test func `L8: The reader accepts cookies for this or any display, and a truncated file`() {
        func entry(_ family: UInt16, _ parts: [UInt8]...) -> [UInt8] {
            [UInt8(family >> 8), UInt8(family & 0xff)] + parts.flatMap { [0, UInt8($0.count)] + $0 }
        }
        let cookie = XAuthority.cookie
        let bytes =
            entry(256, Array("there".utf8), Array("0".utf8), cookie, [1])
            + entry(256, Array("here".utf8), Array("1".utf8), cookie, [2])
            + entry(256, Array("here".utf8), Array("0".utf8), Array("XDM-AUTHORIZATION-1".utf8), [3])
            + entry(0, [127, 0, 0, 1], Array("0".utf8), cookie, [4])
            + entry(65_535, [], Array("0".utf8), cookie, [5]) + entry(65_535, [], [], cookie, [6])
        let authority = XAuthority(bytes)
        #expect(authority.entries.count == 6)
        #expect(authority.cookie(display: 0, host: "here") == [5])
        #expect(authority.cookie(display: 1, host: "here") == [2])
        #expect(authority.cookie(display: 2, host: "here") == [6])
        #expect(XAuthority([]).cookie(display: 0, host: "here") == nil)
        for length in bytes.indices { #expect(XAuthority(Array(bytes[..<length])).entries.count < 6) }
    }

    // MARK: - Displays

    @Test(
        arguments: [
            (":0", 0), (":10.1", 10), ("unix:3", 3), ("unix:3.0", 3), ("localhost:10.0", nil), ("", nil), (":", nil),
            (":a", nil), (":-1", nil), ("::0", nil), (":65536", nil), ("host/unix:0", nil), ("0", nil),
        ] as [(String, Int?)])
    func `L8: The search uses only displays of this machine`(name: String, number: Int?) {
        #expect(X11Display(name: name, authority: nil)?.number == number)
    }

    @Test func `L8: The search prefers the session's display to the service's, and Wayland to X`() {
        let service = [
            "XDG_RUNTIME_DIR": "/run/user/7", "WAYLAND_DISPLAY": "wayland-5", "DISPLAY": ":1", "HOME": "/home/a",
        ]
        let session = [
            "WAYLAND_DISPLAY": "/tmp/own", "DISPLAY": ":0", "XAUTHORITY": "/x", "XDG_CURRENT_DESKTOP": "GNOME",
        ]
        let both = Displays(session: session, service: service)
        #expect(
            both.found == [
                .wayland(path: "/tmp/own"), .wayland(path: "/run/user/7/wayland-5"),
                .x11(X11Display(number: 0, authority: "/x")),
                .x11(X11Display(number: 1, authority: "/home/a/.Xauthority")),
            ])
        #expect(both.desktop == "GNOME")
        #expect(Displays(session: service, service: service).found.count == 2)
        #expect(Displays(session: nil, service: ["DISPLAY": "", "WAYLAND_DISPLAY": "wayland-0"]).found.isEmpty)
    }

    @Test func `L8: The monitor watches for sockets where a desktop is likely to create them`() {
        let none = Displays(session: nil, service: ["XDG_RUNTIME_DIR": "/run/user/7"]).socketPaths
        #expect(Set(none).isSuperset(of: ["/run/user/7/wayland-0", "/run/user/7/wayland-1", "/tmp/.X11-unix/X0"]))
        let named = Displays(session: nil, service: ["WAYLAND_DISPLAY": "/tmp/own", "DISPLAY": ":99"]).socketPaths
        #expect(Set(named).isSuperset(of: ["/tmp/own", "/tmp/.X11-unix/X99"]))
        #expect(Set(named).count == named.count)
    }

    // MARK: - Between two windows

    @Test func `L8: The focus reports another window at once, but an empty foreground only after a delay`() {
        let one = FrontApplication(applicationID: "one")
        let two = FrontApplication(applicationID: "two")
        var settling = FrontSettling()
        func update(_ front: FrontApplication?, at now: Double) -> Bool { settling.update(front, now: now) }
        let first = [update(one, at: 0), update(one, at: 1), update(nil, at: 2)]
        #expect(first == [true, false, false])
        #expect(settling.told == one && settling.deadline == 2 + FrontSettling.timeout)
        // The delay begins with the first report.
        let again = update(nil, at: 2.2)
        #expect(!again && settling.deadline == 2 + FrontSettling.timeout)
        let other = update(two, at: 2.3)
        #expect(other && settling.told == two && settling.deadline == nil)
        let nothing = [update(nil, at: 3), settling.tick(now: 3.1), settling.tick(now: 3 + FrontSettling.timeout)]
        #expect(nothing == [false, false, true] && settling.told == nil)
        let later = [settling.tick(now: 9), update(nil, at: 9)]
        #expect(later == [false, false] && settling.deadline == nil)
    }

    @Test func `L8: Without a source the foreground does not change`() {
        let one = FrontApplication(applicationID: "one")
        var settling = FrontSettling()
        func follow(_ report: FocusReport, hasDisplay: Bool = true, at now: Double) -> Bool {
            settling.follow(report, isComplete: true, hasDisplay: hasDisplay, now: now)
        }
        let nobody = FocusReport.nobody("no window manager")
        // A window manager that ends may first remove the focus.
        let ending = [
            follow(FocusReport(application: one, source: .x11), at: 0),
            follow(FocusReport(source: .x11), at: 1), follow(nobody, at: 1.1), follow(nobody, at: 60),
        ]
        #expect(ending == [true, false, false, false] && settling.told == one && settling.deadline == nil)
        let returned = [
            follow(FocusReport(source: .x11), at: 61), follow(FocusReport(application: one, source: .x11), at: 61.2),
        ]
        #expect(returned == [false, false] && settling.told == one)
        // When the display ends, its windows are gone.
        let gone = [follow(nobody, hasDisplay: false, at: 62), follow(nobody, hasDisplay: false, at: 63)]
        #expect(gone == [false, true] && settling.told == nil)
    }

    @Test func `L8: A window manager reports the active window while its own window exists`() {
        var word = WindowManagerWord()
        word.listsActiveWindow = true
        #expect(word.isTold == nil, "its window is not known")
        let first = word.named(7)
        #expect(first && word.isTold == nil)
        word.answered(7, isThere: true)
        #expect(word.isTold == true)
        word.closed(9)
        #expect(word.isTold == true)
        // The root window's list of supported hints may still exist.
        word.closed(7)
        #expect(word.isTold == false)
        let second = word.named(8)
        word.answered(8, isThere: false)
        #expect(second && word.isTold == false)
        let third = [word.named(11), word.named(11)]
        word.answered(11, isThere: true)
        #expect(third == [true, false] && word.isTold == true)
        let taken = word.named(0)
        #expect(!taken && word.isTold == false)
        // A window manager without its own window is recognised by its list of hints.
        var simple = WindowManagerWord()
        simple.listsActiveWindow = true
        let none = simple.named(0)
        #expect(!none && simple.isTold == true)
    }

    @Test func `L8: The monitor delivers its first report even if the report is empty`() {
        var settling = FrontSettling()
        let first = settling.update(nil, now: 0)
        #expect(!first && !settling.hasTold)
        let second = settling.update(nil, now: FrontSettling.timeout)
        #expect(second && settling.hasTold && settling.told == nil)
        let third = settling.update(nil, now: 7)
        #expect(!third)
    }
}
