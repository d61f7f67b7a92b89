import HTTPServing
import Testing

@testable import Page

/// B5: Tests of the user of a connection according to the kernel's table, and of the page's end after its last visitor.
@Suite struct PeerUserTests {
    /// A table as in proc(5), with connections between port 46393 (the page) and ports 47906, 47907 and 47908.
    static let table = """
          sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0100007F:B539 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 61453 1 0000000000000000 100 0 0 10 0
           1: 0100007F:B539 0100007F:BB22 01 00000000:00000000 00:00000000 00000000  1000        0 61455 1 0000000000000000 20 0 0 10 -1
           2: 0100007F:BB22 0100007F:B539 01 00000000:00000000 00:00000000 00000000  1001        0 61454 2 0000000000000000 20 0 0 10 -1
           3: 0100007F:BB23 0100007F:B539 04 00000000:00000000 00:00000000 00000000     0        0 0 2 0000000000000000 20 0 0 10 -1
           4: 0200007F:BB24 0100007F:B539 01 00000000:00000000 00:00000000 00000000  1000        0 61456 2 0000000000000000 20 0 0 10 -1
        """

    static let mapped = """
          sl  local_address                         remote_address                        st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
           0: 0000000000000000FFFF00000100007F:BB25 0000000000000000FFFF00000100007F:B539 01 00000000:00000000 00:00000000 00000000  1002        0 1 1 0 0
           1: 00000000000000000000000001000000:BB26 00000000000000000000000001000000:B539 01 00000000:00000000 00:00000000 00000000  1002        0 1 1 0 0
        """

    private func user(_ port: Int, _ table: String = table) -> UInt32? {
        PeerUser.user(of: .init(peerPort: port, ownPort: 46_393), in: table, loopback: "0100007F")
    }

    @Test("B5: the reported user owns the socket of the peer, not that of the page")
    func peers() {
        #expect(user(0xBB22) == 1_001)
        #expect(user(0xBB25, Self.mapped) == 1_002)
    }

    @Test("B5: a closed socket and an unknown socket have no user")
    func unknown() {
        #expect(user(0xBB23) == nil)
        #expect(user(0xBB24) == nil)
        #expect(user(0xBB26, Self.mapped) == nil)
        #expect(user(1) == nil)
        #expect(user(0xBB22, "") == nil)
        #expect(user(0xBB22, "garbage\nmore garbage\n") == nil)
    }

    @Test("B5: the page ends exactly when its time without a visitor is over")
    func visitors() {
        var visitors = Visitors(timeout: .seconds(60), now: .seconds(0))
        #expect(visitors.look(at: .seconds(59)) == .again(at: .seconds(60)))
        #expect(visitors.look(at: .seconds(60)) == .over)
        visitors.enter()
        visitors.enter()
        #expect(visitors.look(at: .seconds(900)) == .visited)
        visitors.leave(at: .seconds(910))
        #expect(visitors.look(at: .seconds(990)) == .visited)
        visitors.leave(at: .seconds(1_000))
        #expect(visitors.look(at: .seconds(1_001)) == .again(at: .seconds(1_060)))
        #expect(visitors.look(at: .seconds(1_060)) == .over)
    }
}
