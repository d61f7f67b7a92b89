import Harness

@main enum Main {
    static func main() async {
        await appWithoutService()
        await everything()
        await alone()
        await beside()
        finish()
    }
}
