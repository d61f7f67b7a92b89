import Harness

@main enum Main {
    static func main() async {
        await sourcesOfiOS()
        finish()
    }
}
